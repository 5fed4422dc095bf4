"""Files that Weir only refers to, and that are restored or changed before an erasure has overwritten them: what is there is
overwritten, or the file is named and nothing is called verified.

changed_test.py [NAME…]: all, or these.
"""

import json
import os
import subprocess
import sys

from unverified_test import assert_unverified, first_erased, waited_for
from weirlab import PIPELINE, Lab, faulty, run_tests, served

REFERRED = PIPELINE.replace("retrain_now", "keep").replace("import: copy", "import: reference")


class Referred:
    """A platform that has read files which it refers to, stopped."""

    def __init__(self, settle, is_owned=True):
        self.lab = Lab(samples=200, every=200, epochs=1, pipeline=REFERRED.replace("on_erase", f"settle: {settle}, on_erase"))
        self.sources = self.lab.folder / "stream"
        self.lab.run().finish()
        owner = self.lab.data_dir.stat().st_uid  # whom Weir runs as
        for path in [self.sources, *self.sources.iterdir()]:
            os.chown(path, owner if is_owned else -1, -1)
            os.chmod(path, 0o777)
        self.person = self.lab.records[10]["user"]
        self.texts = [r["text"] for r in self.lab.records if r["user"] == self.person]

    def held(self):
        whole = "".join(part.read_text() for part in self.sources.iterdir())
        return [text for text in self.texts if text in whole]


def test_sources_that_were_restored_are_scrubbed_also_by_the_first_request_of_a_start():
    referred = Referred("3s")  # so long nobody looks at what was just restored
    aside = referred.lab.folder / "aside"
    referred.sources.rename(aside)
    subprocess.run(["cp", "-a", aside, referred.sources], check=True)  # other inodes
    assert referred.held()
    referred.lab.weir("erase", "request", "--subject", referred.person, "--wait")  # its own platform
    assert not referred.held()
    assert "everything holds" in referred.lab.weir("erase", "verify", "1")
    referred.lab.remove()


def test_files_of_another_user_are_scrubbed_by_who_may_write_to_them():
    """Their time cannot be put back: it is the new one, and the next scan finds nothing changed."""
    referred = Referred("0ms", is_owned=False)
    lab = referred.lab
    lab.weir("erase", "request", "--subject", referred.person, "--wait")
    assert not referred.held()
    with served(lab):
        (dataset,) = json.loads(lab.weir("datasets", "--json"))["datasets"]
        counts = [dataset[count] for count in ("live", "erased", "replaced", "ingested")]
        assert counts == [200 - len(referred.texts), len(referred.texts), 0, 200], dataset
    lab.remove()


def test_a_file_that_changed_before_it_was_overwritten_is_named_until_nothing_of_the_person_stands_in_it():
    referred = Referred("3s")
    lab, part = referred.lab, referred.sources / "part0.jsonl"
    lines = part.read_text().splitlines(keepends=True)
    with faulty("storage.scans.first=1"), served(lab):  # the request does not wait for a scan
        part.write_text("".join([json.dumps(dict(lab.records[0], user="nobody", text="new")) + "\n", *lines]))
        first_erased(part, lab, referred.person)
        assert_unverified(lab, part)
        assert "kept out" in waited_for(lab, lambda told: "kept out" in told.stdout).stdout
        assert_unverified(lab, part)
        part.write_text("".join(line for line in lines if f'"{referred.person}"' not in line))
        done = waited_for(lab, lambda told: told.returncode == 0)
        assert "FINISHED" in done.stdout and not referred.held(), done.stdout
        assert "everything holds" in lab.weir("erase", "verify", "1")
    lab.remove()


if __name__ == "__main__":
    run_tests(globals(), wanted=[f"test_{name}" for name in sys.argv[1:]])
