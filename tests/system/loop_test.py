"""The loop of docs/guides/write-a-training-loop.md as it stands there: compiled as a user would, linked with the library, and fed by
a platform as the trainer of a pipeline. It dies, goes on from what it saved, and has each sample as often as there are epochs."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from weirlab import Lab, binaries, with_trainer

ROOT = Path(__file__).parents[2]
EPOCHS = 2
LIVES = """\
#!/bin/sh
case "$*" in *--run*) ;; *) exec {real} "$@" ;; esac  # it is asked for its configuration
while [ $# -gt 0 ]; do
    case $1 in
    --run) export WEIR_RUN=$2 ;;
    --socket-dir) export WEIR_SOCKET_DIR=$2 ;;
    esac
    shift
done
cd {folder}/work
if [ -e died ]; then
    exec stdbuf -oL ../loop > second
fi
: > died
mkfifo said
stdbuf -oL ../loop > said &
loop=$!
lines=0
while read -r line; do
    echo "$line"
    lines=$((lines + 1))
    [ $lines -ne 5 ] || kill -9 $loop
done < said > first  # all that it has said, since a batch beyond the fifth may be in what it has saved
kill -9 $$
"""
PRINTED = re.compile(r"batch (\d+) of epoch (\d+): (\d+) samples, tensor 'tokens'")


def build(folder, library):
    """Compiles the only program of the guide, out of the tree."""
    (text,) = re.findall(r"^```c\n(.*?)^```", (ROOT / "docs/guides/write-a-training-loop.md").read_text(), re.S | re.M)
    (folder / "loop.c").write_text(text)
    shutil.copy(library, folder / "libweir_client.so.1")
    (folder / "libweir_client.so").symlink_to("libweir_client.so.1")
    subprocess.run(["cc", f"-I{ROOT}/trainer_client/include", "-o", folder / "loop", folder / "loop.c", f"-L{folder}",
                    "-Wl,-rpath,$ORIGIN", "-lweir_client"], check=True)


def received(path):
    """{(epoch, batch): samples} of one life."""
    found = [tuple(map(int, numbers)) for numbers in PRINTED.findall(path.read_text())]
    assert len(found) == len(path.read_text().splitlines()) > 0, path.read_text()
    batches = {(epoch, number): samples for number, epoch, samples in found}
    assert len(batches) == len(found), "no batch comes twice to one life"
    return batches


def main():
    lab = Lab(samples=600, every=600, epochs=EPOCHS)
    lab.pipeline.write_text(lab.pipeline.read_text().replace("training: {", "training: {retries: 0, "))
    library = binaries().parent / "lib/libweir_client.so.1"
    folder = with_trainer(lab, LIVES)
    build(folder, library)
    (folder / "work").mkdir()
    os.chmod(folder / "work", 0o777)
    run = lab.run().finish(expect=None)  # the loop says nothing of a model
    (sealed,) = run.of("selection_sealed")
    first, second = received(folder / "work/first"), received(folder / "work/second")
    whole = first | second
    assert all(whole[batch] == first[batch] for batch in first), "the same batches, whoever asks"
    assert sum(whole.values()) == EPOCHS * sealed["samples"], (sum(whole.values()), sealed)
    assert min(second) > min(first), "it goes on from what it had saved"
    print(f"{len(first)} batches in one life, {len(second)} in the next: {sum(whole.values())} samples of {EPOCHS} epochs")
    lab.remove()


if __name__ == "__main__":
    main()
