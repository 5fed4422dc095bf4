"""deploy/ held to the list of measures: every name and label in the dashboard and the alert rules is one that /metrics has, rates
are of counters alone; and, where promtool is (package prometheus), each alert fires when it should and not when it should not.
"""
import functools
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RULES = ROOT / "deploy/prometheus/weir.rules.yaml"
OF_PROMETHEUS = {"instance", "job"}  # labels that it gives to all that it scrapes
MINUTES = 80

# Alert → series for which it fires, and series that are close to it for which it does not; a value a minute.
ALERTS = {
    "WeirNotScraped": ({'up{job="weir"}': "1x10 0x80"}, {'up{job="weir"}': "1x80", 'up{job="node"}': "0x80"}),
    "WeirServiceDown": ({'weir_service_up{service="storage"}': "1x40 0x80"}, {'weir_service_up{service="storage"}': "1x80"}),
    "WeirServiceRestarts": ({'weir_service_restarts_total{service="worker"}': "0+1x80"},
                            {'weir_service_restarts_total{service="worker"}': "0x70 1x20"}),
    "WeirFiguresOld": ({'weir_metrics_age_seconds{service="storage"}': "0x40 45x100"},
                       {'weir_metrics_age_seconds{service="storage"}': "2x80"}),
    "WeirPipelineFailed": ({'weir_pipeline_state{pipeline="p",state="FAILED"}': "1x80"},
                           {'weir_pipeline_state{pipeline="p",state="READING"}': "1x80"}),
    "WeirDataStall": ({'weir_data_stall_seconds_total{pipeline="p",stage="read"}': "0+20x80",
                       'weir_trainer_busy_seconds_total{pipeline="p"}': "0+40x80"},
                      {'weir_data_stall_seconds_total{pipeline="p",stage="read"}': "0+5x80",
                       'weir_trainer_busy_seconds_total{pipeline="p"}': "0+55x80"}),
    "WeirPoolTooSmall": ({'weir_pool_target_workers{place="pool"}': "4x80", 'weir_pool_max_workers{place="pool"}': "4x80",
                          'weir_data_stall_ratio{pipeline="p",stage="operators"}': "0.5x80"},
                         {'weir_pool_target_workers{place="pool"}': "3x80", 'weir_pool_max_workers{place="pool"}': "4x80",
                          'weir_data_stall_ratio{pipeline="p",stage="operators"}': "0.5x80"}),
    "WeirWorkersMissing": ({'weir_pool_workers{place="pool",state="lost"}': "1x80"},
                           {'weir_pool_workers{place="pool",state="running"}': "9x80", 'weir_pool_workers{place="pool",state="lost"}': "0x80"}),
    "WeirTriggerBacklog": ({'weir_trigger_oldest_open_seconds{pipeline="p"}': "15000x80"},
                           {'weir_trigger_oldest_open_seconds{pipeline="p"}': "0+1x80"}),
    "WeirRunsFail": ({'weir_runs_total{pipeline="p",state="failed"}': "0x60 1x30"},
                     {'weir_runs_total{pipeline="p",state="failed"}': "3x80", 'weir_runs_total{pipeline="p",state="done"}': "0+1x80"}),
    "WeirTrainersDie": ({'weir_run_retries_total{pipeline="p"}': "0+1x80"}, {'weir_run_retries_total{pipeline="p"}': "0x75 1x10"}),
    "WeirSamplesFail": ({'weir_samples_failed_total{pipeline="p"}': "0+1x80"}, {'weir_samples_failed_total{pipeline="p"}': "7x80"}),
    "WeirFeedLag": ({'weir_feed_lag_seconds{dataset="d",pipeline="p",service="selector"}': "0+60x80",
                     'weir_pipeline_state{pipeline="p",state="READING"}': "1x80"},
                    {'weir_feed_lag_seconds{dataset="d",pipeline="p",service="selector"}': "0+60x80",
                     'weir_pipeline_state{pipeline="p",state="PAUSED"}': "1x80"}),
    "WeirRecordsRefused": ({'weir_dataset_refused_records{dataset="d",state="quarantined"}': "0x40 3x60"},
                           {'weir_dataset_refused_records{dataset="d",state="quarantined"}': "3x80",
                            'weir_dataset_refused_records{dataset="d",state="duplicate"}': "0+1x80"}),
    "WeirCacheDamaged": ({"weir_cache_damaged_segments_total": "0x40 1x60"}, {"weir_cache_damaged_segments_total": "1x80"}),
    "WeirErasureNotInForce": ({"weir_erasure_oldest_not_in_force_seconds": "0+60x80"},
                              {"weir_erasure_oldest_not_in_force_seconds": "3x80", "weir_erasure_oldest_open_seconds": "0+60x80"}),
    "WeirErasureOverdue": ({"weir_erasures_overdue": "1x80"}, {"weir_erasures_overdue": "0x80", "weir_erasures_open": "5x80"}),
    "WeirErasureTroubled": ({"weir_erasures_troubled": "0x40 1x60"}, {"weir_erasures_troubled": "0x75 1x10"}),
}


@functools.cache
def measures():
    """Name → (type, labels), from the page that is made of the list."""
    page = (ROOT / "docs/reference/metrics-endpoint.md").read_text()
    return {name: (kind, set(re.findall(r"`(\w+)`", labels)))
            for name, kind, labels in re.findall(r"^\| `(\w+)` \| (counter|gauge) \| (.*?) \| ", page, re.M)}


def rules():
    """(alert, expression, texts) of the rules; the file is plain enough to be read line by line."""
    for part in RULES.read_text().split("      - alert: ")[1:]:
        lines = part.splitlines()
        at = next(i for i, line in enumerate(lines) if line.startswith("        expr: "))
        end = next(i for i in range(at + 1, len(lines)) if re.match(r" {8}\w", lines[i]))
        yield lines[0], " ".join([lines[at].removeprefix("        expr: ").strip("|"), *lines[at + 1 : end]]), part


def queries():
    """(place, expression, texts that name labels) of everything in deploy/."""
    board = json.loads((ROOT / "deploy/grafana/weir.json").read_text())
    for panel in board["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"], target["legendFormat"]
    for variable in board["templating"]["list"]:
        if variable["type"] == "query":
            name, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["query"]["query"]).groups()
            yield variable["name"], f'{name}{{{label}=""}}', ""
    yield from rules()


class Deploy(unittest.TestCase):
    def test_every_name_and_label_is_one_that_the_page_has(self):
        self.assertGreater(len(measures()), 50)
        seen = 0
        for place, expression, texts in queries():
            found = re.findall(r"\b(weir_\w+)(?:\{(.*?)\})?", expression)
            if place != "WeirNotScraped":  # whose `up` is Prometheus' own
                self.assertTrue(found, (place, expression))
            known = set(OF_PROMETHEUS)
            for name, matchers in found:
                self.assertIn(name, measures(), place)
                labels = measures()[name][1]
                used = set(re.findall(r'(\w+)(?:=~|!~|!=|=)"', matchers))
                self.assertLessEqual(used, labels | OF_PROMETHEUS, (place, expression))
                known |= labels
                seen += 1
            for group in re.findall(r"\b(?:by|on|without|ignoring) \((.*?)\)", expression):
                self.assertLessEqual(set(group.split(", ")), known, (place, expression))
            self.assertLessEqual(set(re.findall(r"\{\{ *(?:\$labels\.)?(\w+) *\}\}", texts)), known, (place, texts))
        self.assertGreater(seen, 60)

    def test_rates_are_of_counters_and_differences_of_gauges(self):
        for place, expression, _ in queries():
            for function, name in re.findall(r"\b(rate|increase|irate|delta|deriv)\((\w+)", expression):
                kind = "counter" if function in ("rate", "increase", "irate") else "gauge"
                self.assertEqual(measures()[name][0], kind, (place, expression))

    def test_panels_of_the_dashboard_lie_side_by_side(self):
        taken, numbers = {}, set()
        for panel in json.loads((ROOT / "deploy/grafana/weir.json").read_text())["panels"]:
            self.assertNotIn(panel["id"], numbers)
            numbers.add(panel["id"])
            at = panel["gridPos"]
            for x in range(at["x"], at["x"] + at["w"]):
                for y in range(at["y"], at["y"] + at["h"]):
                    self.assertLess(x, 24, panel["title"])
                    self.assertNotIn((x, y), taken, panel["title"])
                    taken[x, y] = panel["title"]

    def test_each_alert_has_its_test(self):
        self.assertEqual([name for name, _, _ in rules()], list(ALERTS))

    @unittest.skipIf(shutil.which("promtool") is None, "promtool is not here (package prometheus)")
    def test_promtool_reads_rules_and_configuration(self):
        for what, name in (("rules", RULES.name), ("config", "prometheus.yaml")):
            done = subprocess.run(["promtool", "check", what, RULES.parent / name], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    @unittest.skipIf(shutil.which("promtool") is None, "promtool is not here (package prometheus)")
    def test_alerts_fire_when_they_should_and_only_then(self):
        cases = []
        for alert, (loud, quiet) in ALERTS.items():
            for series, count in ((loud, 1), (quiet, 0)):
                expected = [{"labels": "{}", "value": count}] if count else []
                cases.append({"interval": "1m",
                              "input_series": [{"series": name, "values": values} for name, values in series.items()],
                              "promql_expr_test": [{"expr": f'count(ALERTS{{alertname="{alert}",alertstate="firing"}})',
                                                    "eval_time": f"{MINUTES - 1}m", "exp_samples": expected}]})
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "test.yaml"  # JSON is YAML
            path.write_text(json.dumps({"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": cases}))
            done = subprocess.run(["promtool", "test", "rules", path], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
