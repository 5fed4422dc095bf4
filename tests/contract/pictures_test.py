#!/usr/bin/env python3
"""Operators on pictures against Pillow, on pictures of all kinds: decoded pixels are the same, resized ones
differ by one of 255 at most (Pillow rounds once more), and with torchvision's by as much. Without chance:
both ends of what is drawn are the same.

Skips (exit code 77) where Pillow or NumPy is not installed.
"""
import os
import pathlib
import random
import subprocess
import sys
import tempfile

try:
    import numpy
    from PIL import Image, ImageEnhance, ImageOps
except ImportError as error:
    print(f"skipped: {error}: install python3-pil and python3-numpy")
    sys.exit(77)

PICTURES = 40
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


def run(operators, path, shape):
    out = subprocess.run([RUN, operators, path], check=True, stdout=subprocess.PIPE).stdout
    assert out[0] == 0, f"{operators} of {path} failed"
    return numpy.frombuffer(out[1:], numpy.uint8).reshape(shape)


def expect(what, found, expected, most):
    apart = int(abs(found.astype(int) - numpy.asarray(expected).astype(int)).max())
    assert apart <= most, f"{what}: up to {apart} of 255 apart, expected at most {most}"
    return apart


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


def check_colours(rng, path, picture):
    """A blend of two pictures: what Pillow's enhancers make, to the bit."""
    width, height = picture.size
    for option, enhance in [("brightness", ImageEnhance.Brightness), ("contrast", ImageEnhance.Contrast),
                            ("saturation", ImageEnhance.Color)]:
        factor = round(rng.uniform(0, 2.5), 3)
        found = run(f"[{{op: decode_jpeg}}, {{op: color_jitter, {option}: [{factor}, {factor}]}}, "
                    f"{{op: center_crop, size: [{height}, {width}]}}]", path, (height, width, 3))
        expect(f"{option} {factor} of {path}", found, enhance(picture).enhance(factor), 0)


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
        for _ in range(12):
            check_png_and_grey(rng, pathlib.Path(name))
        against = ["Pillow"]
        if all(check_torchvision(rng, path, opened(path)) for path in paths[:8]):
            against.append("torchvision")
    print(f"{PICTURES} pictures: as {' and '.join(against)} make them")


if __name__ == "__main__":
    main()
