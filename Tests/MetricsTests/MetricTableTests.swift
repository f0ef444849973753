import FoundationEssentials
import Metrics
import Testing

@Suite("The table of metrics")
struct MetricTableTests {
    @Test("docs/METRICS.md has the rows of the list: name, type, unit, labels and help")
    func table() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let text = try String(contentsOf: root.appending(path: "docs/METRICS.md"), encoding: .utf8)
        let rows = text.split(separator: "\n").filter {
            $0.hasPrefix("| `sophon_bridge_") || $0.hasPrefix("| `process_")
        }
        let wanted = Metric.all.map { metric in
            let labels = metric.labels.map { "`\($0)`" }.joined(separator: ", ")
            return "| `\(metric.name)` | \(metric.kind.rawValue) | \(metric.unit) | \(labels.isEmpty ? "–" : labels) | "
                + "\(metric.help.dropLast()) |"
        }
        #expect(rows.map(String.init) == wanted)
    }
}
