import Metrics
import Testing

/// The naming rules of Prometheus, as `promtool check metrics` holds them.
@Suite("The list of metrics")
struct MetricTests {
    @Test("names differ and have the prefix") func names() {
        #expect(Set(Metric.all.map(\.name)).count == Metric.all.count)
        let others = Metric.all.filter { !$0.name.hasPrefix("sophon_bridge_") }
        #expect(others.map(\.name) == ["process_resident_memory_bytes"])
    }

    @Test("a name says its kind and its unit", arguments: Metric.all) func units(metric: Metric) {
        #expect(metric.name.hasSuffix("_total") == (metric.kind == .counter))
        for unit in ["seconds", "bytes"] { #expect(metric.name.hasSuffix("_\(unit)") == (metric.unit == unit)) }
        #expect(metric.name.allSatisfy { $0.isASCII && ($0.isLowercase || $0 == "_") })
    }

    @Test("labels are of the known few", arguments: Metric.all) func labels(metric: Metric) {
        let known: Set = ["version", "connection", "outcome", "method", "code", "bucket", "side", "event"]
        #expect(known.isSuperset(of: metric.labels))
        #expect(metric.help.hasSuffix("."))
    }
}
