"""Weir's side of a comparison by CPU time: a pipeline that is run, with all its processes."""
import json
import resource
import shutil
import subprocess


def run(*command, folder):
    """The output of a command, and the CPU seconds of it and of all that it has waited for."""
    def spent():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime
    before = spent()
    done = subprocess.run([str(word) for word in command], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout, spent() - before


def run_pipeline(orchestrator, text, folder):
    """CPU seconds of the platform from nothing to the end of the pipeline, and the value of its first evaluation."""
    (folder / "pipeline.yaml").write_text(text)
    shutil.rmtree(folder / "data", ignore_errors=True)
    printed, seconds = run(orchestrator, "run", "pipeline.yaml", "--data-dir", "data", "--json", folder=folder)
    events = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
    return seconds, next(event["value"] for event in events if event["event"] == "evaluation")


def rate_of_epochs(train, samples, epochs):
    """Samples a second of CPU time, and the quality after all epochs. `train` takes epochs, and returns seconds and quality: the
    difference of two trainings is measured, so that neither side pays for its start, nor for reading its input once."""
    (once, _), (all_of_them, quality) = train(1), train(epochs)
    return samples * (epochs - 1) / max(all_of_them - once, 1e-3), quality
