#!/usr/bin/env python3
"""Operators on pictures against Pillow, on pictures of all kinds: decoded pixels are the same, resized ones
differ by one of 255 at most (Pillow rounds once more), and with torchvision's by as much. Mostly without chance:
both ends of what is drawn are the same. Parts that are drawn are spread as the published algorithm spreads them.

Skips (exit code 77) where Pillow or NumPy is not installed.
"""
import math
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import zlib

try:
    import numpy
    from PIL import Image, ImageEnhance, ImageFile, ImageOps
except ImportError as error:
    print(f"skipped: {error}: install python3-pil and python3-numpy")
    sys.exit(77)

PICTURES, DRAWS, SIDE_MAX = 40, 300, 4096
ImageFile.MAXBLOCK = 1 << 20  # Pillow needs as much for one row of a progressive file
RUN = pathlib.Path(os.environ["WEIR_TEST_BIN_DIR"]) / "run_operators"


def draw(rng, mode, width, height):
    """Gradients, noise and edges."""
    bands = len(mode)
    y, x = numpy.mgrid[0:height, 0:width]
    noise = numpy.random.default_rng(rng.randrange(1 << 30)).integers(0, 60, (height, width, bands))
    pixels = (x * rng.randrange(1, 5) + y * rng.randrange(1, 5))[..., None] % 200 + noise
    pixels[(x // 9 + y // 7) % 3 == 0] //= 2
    pixels = pixels.astype(numpy.uint8)
    return Image.fromarray(pixels[..., 0] if bands == 1 else pixels, mode)


def save(rng, folder, number):
    mode = rng.choice(["RGB", "RGB", "RGB", "L", "CMYK"])
    picture = draw(rng, mode, rng.randrange(1, 300), rng.randrange(1, 300))
    path = folder / f"{number}.jpg"
    picture.save(path, quality=rng.randrange(30, 98), subsampling=rng.randrange(3),
                 progressive=rng.random() < 0.3)
    return path


def opened(path):
    """As RGB; ink is mixed here as Weir says it does, because Pillow rounds otherwise."""
    picture = Image.open(path)
    if picture.mode != "CMYK":
        return picture.convert("RGB")
    light = 255 - numpy.asarray(picture).astype(int)
    return Image.fromarray(((light[..., :3] * light[..., 3:] + 127) // 255).astype(numpy.uint8))


def run(operators, path, shape, dtype=numpy.uint8, times=1):
    """The tensor of a picture; with `times`, of so many samples that are all this picture."""
    out = subprocess.run([RUN, operators, *times * [path]], check=True, stdout=subprocess.PIPE).stdout
    assert not any(out[:times]), f"{operators} of {path} failed"
    return numpy.frombuffer(out[times:], dtype).reshape(shape if times == 1 else (times, *shape))


def expect(what, found, expected, most):
    most_apart = int(abs(found.astype(int) - numpy.asarray(expected).astype(int)).max())
    assert most_apart <= most, f"{what}: up to {most_apart} of 255 apart, expected at most {most}"


def check_whole(path, picture):
    width, height = picture.size
    found = run(f"[{{op: decode_jpeg}}, {{op: center_crop, size: [{height}, {width}]}}]", path,
                (height, width, 3))
    expect(f"decode {path}", found, picture, 0)
    found = run("[{op: decode_jpeg}, {op: to_ragged}]", path, (height, width, 3))
    expect(f"decode {path} to its own size", found, picture, 0)


def check_resize(rng, path, picture):
    width, height = picture.size
    # No less than half of the size: below, a smaller picture is decoded.
    new = rng.randrange(height // 2 + 1, 2 * height + 2), rng.randrange(width // 2 + 1, 2 * width + 2)
    found = run(f"[{{op: decode_jpeg}}, {{op: resize, size: [{new[0]}, {new[1]}]}}]", path,
                (*new, 3))
    expect(f"resize {path} to {new}", found, picture.resize(new[::-1], Image.BILINEAR), 1)


def check_crop_and_resize(rng, path, picture):
    width, height = picture.size
    size = rng.randrange(1, min(width, height) + 1)
    top, left = round((height - size) / 2), round((width - size) / 2)
    crop = picture.crop((left, top, left + size, top + size))
    new = rng.randrange(1, 200)
    found = run(f"[{{op: decode_jpeg}}, {{op: center_crop, size: {size}}}, "
                f"{{op: resize, size: [{new}, {new}]}}, {{op: to_chw}}]", path, (3, new, new))
    expected = numpy.asarray(crop.resize((new, new), Image.BILINEAR)).transpose(2, 0, 1)
    expect(f"centre {size} of {path} to {new}", found, expected, 1)


def check_black_border(path, picture):
    width, height = picture.size
    size = max(width, height) + 10
    found = run(f"[{{op: decode_jpeg}}, {{op: center_crop, size: {size}}}]", path, (size, size, 3))
    top, left = (size - height) // 2, (size - width) // 2
    expected = ImageOps.expand(picture, (left, top, size - width - left, size - height - top))
    expect(f"border around {path}", found, expected, 0)


def check_png_and_grey(rng, folder):
    mode = rng.choice(["RGB", "L", "RGBA", "P"])
    picture = draw(rng, "RGB" if mode == "P" else mode, rng.randrange(1, 90), rng.randrange(1, 90))
    picture = picture.quantize(16) if mode == "P" else picture
    path = folder / "picture.png"
    picture.save(path)
    picture = picture.convert("RGB")
    width, height = picture.size
    crop = f"{{op: center_crop, size: [{height}, {width}]}}"
    expect(f"{mode} png", run(f"[{{op: decode_png}}, {crop}]", path, (height, width, 3)), picture, 0)
    grey = picture.convert("L")
    for operators in [f"{{op: decode_png, channels: grey}}, {crop}", f"{{op: decode_png}}, {{op: grayscale}}, {crop}",
                      f"{{op: decode_png}}, {crop}, {{op: grayscale}}"]:
        expect(f"grey {mode} png", run(f"[{operators}]", path, (height, width)), grey, 0)


def check_extremes(rng, folder):
    """One pixel, one row, one column, and more pixels in a row than some programs take."""
    for width, height in [(1, 1), (2, 1), (1, 999), (999, 1), (16384, 1), (3, 16384), (65000, 2)]:
        for kind in ("jpeg", "png"):
            path, mode = folder / f"extreme.{kind}", rng.choice(["RGB", "L"])
            draw(rng, mode, width, height).save(path, **({"progressive": rng.random() < 0.5} if kind == "jpeg" else {}))
            picture = Image.open(path).convert("RGB")
            new = rng.choice([(min(max(height, 2), SIDE_MAX), 3), (3, min(width, SIDE_MAX)), (1000, 1), (1, 1000), (300, 20)])
            if kind == "jpeg" and new[0] * 2 <= height and new[1] * 2 <= width:
                continue  # then a smaller picture is decoded
            expect(f"{mode} {kind} of {width} x {height} to {new}",
                   run(f"[{{op: decode_{kind}}}, {{op: resize, size: [{new[0]}, {new[1]}]}}]", path, (*new, 3)),
                   picture.resize(new[::-1], Image.BILINEAR), 1)
            run(f"[{{op: decode_{kind}}}, {{op: random_resized_crop, size: 7}}]", path, (7, 7, 3))


# ---- PNG of all kinds, written down here ----

CHANNELS_OF = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
PASSES = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]


def png_chunk(name, content):
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def png_rows(numbers, depth):
    out = b""
    for row in numbers.reshape(numbers.shape[0], -1):
        bits = "".join(format(number, f"0{depth}b") for number in row)
        bits += "0" * (-len(bits) % 8)
        out += bytes([0, *(int(bits[i:i + 8], 2) for i in range(0, len(bits), 8))])
    return out


def png_file(numbers, depth, colour, is_interlaced, more):
    height, width = numbers.shape[:2]
    parts = [numbers[y::down, x::right] for x, y, right, down in PASSES] if is_interlaced else [numbers]
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, is_interlaced)
    pixels = zlib.compress(b"".join(png_rows(part, depth) for part in parts if part.size))
    return (b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", header) + more + png_chunk(b"IDAT", pixels) + png_chunk(b"IEND", b""))


def check_png_kinds(rng, folder):
    """All depths and colours, in one pass or seven; what is transparent keeps its colour."""
    path = folder / "kind.png"
    for colour, depths in {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}.items():
        for depth in depths:
            noise = numpy.random.default_rng(rng.randrange(1 << 30))
            height, width, is_interlaced = rng.choice([1, 9, 17]), rng.choice([1, 3, 13]), rng.randrange(2)
            numbers = noise.integers(0, 1 << depth, (height, width, CHANNELS_OF[colour]))
            palette = noise.integers(0, 256, (1 << depth, 3)).astype(numpy.uint8) if colour == 3 else None
            more = png_chunk(b"gAMA", struct.pack(">I", 45455))
            if colour == 3:
                more += png_chunk(b"PLTE", palette.tobytes()) + png_chunk(b"tRNS", bytes(range(1 << min(depth, 6))))
            elif colour in (0, 2):
                more += png_chunk(b"tRNS", struct.pack(f">{len(numbers[0, 0])}H", *numbers[0, 0]))
            path.write_bytes(png_file(numbers, depth, colour, is_interlaced, more))
            eight = palette[numbers[..., 0]] if colour == 3 else numbers >> 8 if depth == 16 else numbers * 255 // ((1 << depth) - 1)
            expected = eight[..., :3] if eight.shape[2] > 2 else numpy.repeat(eight[..., :1], 3, 2)
            operators = f"[{{op: decode_png}}, {{op: center_crop, size: [{height}, {width}]}}]"
            expect(f"png of colour {colour}, depth {depth}, {is_interlaced}", run(operators, path, (height, width, 3)), expected, 0)
            path.write_bytes(path.read_bytes()[:-20])
            assert subprocess.run([RUN, operators, path], check=True, stdout=subprocess.PIPE).stdout[0] == 1, "a cut off png passed"


def check_colours(rng, path, picture):
    """A blend of two pictures: what Pillow's enhancers make, to the bit."""
    width, height = picture.size
    for option, enhance in [("brightness", ImageEnhance.Brightness), ("contrast", ImageEnhance.Contrast),
                            ("saturation", ImageEnhance.Color)]:
        factor = round(rng.uniform(0, 2.5), 3)
        found = run(f"[{{op: decode_jpeg}}, {{op: color_jitter, {option}: [{factor}, {factor}]}}, "
                    f"{{op: center_crop, size: [{height}, {width}]}}]", path, (height, width, 3))
        expect(f"{option} {factor} of {path}", found, enhance(picture).enhance(factor), 0)


def check_mirrors_and_numbers(rng, path, picture):
    width, height = picture.size
    crop = f"{{op: center_crop, size: [{height}, {width}]}}"
    for horizontal, vertical in [(1, 0), (0, 1), (1, 1), (0, 0)]:
        found = run(f"[{{op: decode_jpeg}}, {crop}, {{op: flip, horizontal: {horizontal}, vertical: {vertical}}}]", path,
                    (height, width, 3))
        mirrored = ImageOps.mirror(picture) if horizontal else picture
        expect(f"mirrored {path}", found, ImageOps.flip(mirrored) if vertical else mirrored, 0)
    mean, std = [[round(rng.uniform(0.1, 0.9), 3) for _ in range(3)] for _ in range(2)]
    expected = (numpy.asarray(picture) / 255.0 - mean) / std
    for planes, axes in [("", (0, 1, 2)), (", {op: to_chw}", (2, 0, 1))]:
        wanted = expected.transpose(axes)
        found = run(f"[{{op: decode_jpeg}}, {crop}, {{op: normalize, mean: {mean}, std: {std}}}{planes}]", path,
                    wanted.shape, numpy.float32)
        assert numpy.allclose(found, wanted, rtol=1e-5, atol=1e-6), f"numbers of {path}"


def draw_part(rng, height, width):
    """As the paper says, and torchvision: a share of the area and a ratio, until they fit; then the middle."""
    for _ in range(10):
        area, ratio = height * width * rng.uniform(0.08, 1), math.exp(rng.uniform(math.log(3 / 4), math.log(4 / 3)))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            return rng.randint(0, height - h), rng.randint(0, width - w), h, w
    ratio = min(max(width / height, 3 / 4), 4 / 3)
    h, w = min(height, round(width / ratio)), min(width, round(height * ratio))
    return (height - h) // 2, (width - w) // 2, h, w


def span_of(ramp, size):
    """Which span of 0 … size - 1 was resized to this ramp: (first, length)."""
    places = numpy.arange(len(ramp)) + 0.5
    inner = slice(len(ramp) // 5, -len(ramp) // 5)
    slope, start = numpy.polyfit(places[inner], ramp[inner] + 0.5, 1)
    first, length = round(start), round(slope * len(ramp))
    whole = Image.fromarray(numpy.arange(size, dtype=numpy.uint8)[None, :])
    near = [(f, n) for f in range(first - 2, first + 3) for n in range(length - 2, length + 3) if f >= 0 and n > 0 and f + n <= size]
    return min(near, key=lambda span: numpy.square(
        numpy.asarray(whole.crop((span[0], 0, sum(span), 1)).resize((len(ramp), 1), Image.BILINEAR)) - ramp).sum())


def apart(found, expected):
    """Returns the distance of two distributions, as Kolmogorov and Smirnov measure it."""
    both = numpy.sort(numpy.concatenate([found, expected]))
    return abs(numpy.searchsorted(numpy.sort(found), both, "right") / len(found)
               - numpy.searchsorted(numpy.sort(expected), both, "right") / len(expected)).max()


def check_random_parts(rng, folder):
    """The red of a point says how far right it is, and its green how far down: so each part is found again. Pillow makes
    the same of it, and all of them are spread as the algorithm says."""
    height, width, side = 150, 220, 60
    y, x = numpy.mgrid[0:height, 0:width]
    picture = Image.fromarray(numpy.stack([x, y, (x * y // 7) % 251], -1).astype(numpy.uint8), "RGB")
    path = folder / "ramps.png"
    picture.save(path)
    found = run(f"[{{op: decode_png}}, {{op: random_resized_crop, size: {side}}}]", path, (side, side, 3), times=DRAWS)
    parts = []
    for made in found:
        (top, h), (left, w) = span_of(made[..., 1].mean(1), height), span_of(made[..., 0].mean(0), width)
        expected = picture.crop((left, top, left + w, top + h)).resize((side, side), Image.BILINEAR)
        expect(f"part {left}, {top}, {w} x {h}", made, expected, 1)
        parts.append((top, left, h, w))
    drawn = [draw_part(rng, height, width) for _ in range(20 * DRAWS)]
    for what, of in [("shares of the area", lambda top, left, h, w: h * w), ("ratios", lambda top, left, h, w: w / h),
                     ("places", lambda top, left, h, w: left / (width - w + 1)),
                     ("heights", lambda top, left, h, w: top / (height - h + 1))]:
        far = apart([of(*part) for part in parts], [of(*part) for part in drawn])
        assert far < 1.95 / math.sqrt(DRAWS), f"{what}: {far:.3f} apart"  # one of a thousand seeds would be


def check_hue_and_blur(rng, path, picture, functional, tensor):
    width, height = picture.size
    crop = f"{{op: center_crop, size: [{height}, {width}]}}"
    turn, sigma = round(rng.uniform(-0.5, 0.5), 3), round(rng.uniform(0.1, 3), 2)
    found = run(f"[{{op: decode_jpeg}}, {{op: color_jitter, hue: [{turn}, {turn}]}}, {crop}]", path,
                (height, width, 3))
    expect(f"torchvision's hue {turn} of {path}", found,
           functional.adjust_hue(tensor, turn).permute(1, 2, 0).numpy(), 1)
    size = rng.choice([size for size in (1, 3, 5, 9, 23) if size // 2 < min(width, height)])
    found = run(f"[{{op: decode_jpeg}}, {{op: blur, kernel_size: {size}, sigma: {sigma}}}, {crop}]", path,
                (height, width, 3))
    expect(f"torchvision's blur {size}, {sigma} of {path}", found,
           functional.gaussian_blur(tensor, size, sigma).permute(1, 2, 0).numpy(), 1)


def check_torchvision(rng, path, picture):
    try:
        import torch
        from torchvision.transforms import functional
    except (ImportError, RuntimeError):
        return False
    width, height = picture.size
    new = max(1, height * 2 // 3), max(1, width * 3 // 4)
    tensor = torch.from_numpy(numpy.asarray(picture).copy()).permute(2, 0, 1)
    expected = functional.resize(tensor, new, antialias=True).permute(1, 2, 0).numpy()
    found = run(f"[{{op: decode_jpeg}}, {{op: resize, size: [{new[0]}, {new[1]}]}}]", path,
                (*new, 3))
    expect(f"torchvision's {path} to {new}", found, expected, 1)
    check_hue_and_blur(rng, path, picture, functional, tensor)
    return True


def main():
    rng = random.Random(7)
    with tempfile.TemporaryDirectory() as name:
        paths = [save(rng, pathlib.Path(name), i) for i in range(PICTURES)]
        for path in paths:
            picture = opened(path)
            check_whole(path, picture)
            check_resize(rng, path, picture)
            check_crop_and_resize(rng, path, picture)
            check_black_border(path, picture)
        for path in paths[:8]:
            check_colours(rng, path, opened(path))
            check_mirrors_and_numbers(rng, path, opened(path))
        check_random_parts(rng, pathlib.Path(name))
        check_extremes(rng, pathlib.Path(name))
        check_png_kinds(rng, pathlib.Path(name))
        for _ in range(12):
            check_png_and_grey(rng, pathlib.Path(name))
        against = ["Pillow"]
        if all(check_torchvision(rng, path, opened(path)) for path in paths[:8]):
            against.append("torchvision")
    print(f"{PICTURES} pictures: as {' and '.join(against)} make them")


if __name__ == "__main__":
    main()
