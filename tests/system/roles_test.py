"""Every message under a key of every role to every service that is reached from elsewhere: what the reference does not name for the
role is refused, in words that name it, and nobody is disturbed."""

import re
from pathlib import Path

from keys_test import elsewhere
from weirlab import DEADLINE_S, await_that, binaries, child, run_tests, victims

REFERENCE = Path(__file__).parents[2] / "docs/reference/messages.md"
ROLES = ("viewer", "submitter", "operator", "privacy", "worker", "trainer")
SERVICES = ("orchestrator", "storage", "selector", "dispatcher")


def named():
    """The messages that the reference names for each role."""
    found = {role: set() for role in (*ROLES, "program")}
    for section in REFERENCE.read_text().split("\n## ")[1:]:
        message, roles = section.split(" ", 1)[0], re.search(r"^Roles: (.*)\.$", section, re.M)
        for role in roles[1].split(", ") if roles else ():
            found[role].add(message)
    return found


def sent(lab, role, service):
    """The messages that the service takes of the role."""
    sender = binaries().parent / "tests/bin/sender"
    done = child.run([sender, service, lab.pass_of(role)], capture_output=True, text=True, timeout=DEADLINE_S)
    assert done.returncode == 0, (role, service, done.stderr)
    return set(done.stdout.split())


def processes(lab):
    return {name: victims(lab.data_dir, name) for name in SERVICES}


def test_a_role_is_served_what_the_reference_names_for_it_and_nothing_else():
    allowed = named()
    with elsewhere() as lab:
        for role in ROLES:
            lab.new(role, role)
        await_that(lab.all_have_noted)
        before, taken = processes(lab), {role: set() for role in ROLES}
        for role in ROLES:
            for service in SERVICES:
                served = sent(lab, role, service)
                assert "health" in served and served <= allowed[role], (role, service, served - allowed[role])
                taken[role] |= served
        assert all("command" in taken[role] for role in ROLES[:4]), taken
        assert processes(lab) == before
        assert lab.told("viewer", "status")["pipelines"] == []
        refused = {record["who"] for record in lab.audit() if record.get("outcome") == "refused"}
        assert refused == set(ROLES), refused


if __name__ == "__main__":
    run_tests(globals())
