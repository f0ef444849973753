/// One value of a metric, with the values of its labels in the order of `Metric.labels`.
package struct MetricSample: Equatable, Sendable {
    package var labels: [String]
    package var value: Double

    package init(_ labels: [String], _ value: Double) {
        self.labels = labels
        self.value = value
    }
}

/// The text format of Prometheus, version 0.0.4
/// (https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format).
package struct MetricsText {
    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    package private(set) var text = ""

    package init() {}

    package mutating func add(_ metric: Metric, _ samples: [MetricSample]) {
        begin(metric)
        for sample in samples { line(metric.name, metric.labels, sample) }
    }

    package mutating func add(_ metric: Metric, _ value: Double) { add(metric, [MetricSample([], value)]) }

    package mutating func add(_ metric: Metric, _ histogram: Histogram) {
        begin(metric)
        let counts = histogram.cumulative
        let bounds = histogram.bounds.map(Self.number) + ["+Inf"]
        for (bound, count) in zip(bounds, counts) {
            line("\(metric.name)_bucket", ["le"], MetricSample([bound], Double(count)))
        }
        line("\(metric.name)_sum", [], MetricSample([], histogram.sum))
        line("\(metric.name)_count", [], MetricSample([], Double(counts.last ?? 0)))
    }

    private mutating func begin(_ metric: Metric) {
        text += "# HELP \(metric.name) \(Self.escaped(metric.help, quotes: false))\n"
        text += "# TYPE \(metric.name) \(metric.kind.rawValue)\n"
    }

    private mutating func line(_ name: String, _ labels: [String], _ sample: MetricSample) {
        precondition(labels.count == sample.labels.count, "a value for each label of \(name)")
        text += name
        if !labels.isEmpty {
            let pairs = zip(labels, sample.labels).map { "\($0)=\"\(Self.escaped($1, quotes: true))\"" }
            text += "{\(pairs.joined(separator: ","))}"
        }
        text += " \(Self.number(sample.value))\n"
    }

    /// A help text keeps its double quotes.
    private static func escaped(_ text: String, quotes: Bool) -> String {
        var result = ""
        for character in text.unicodeScalars {
            switch character {
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\"" where quotes: result += "\\\""
            default: result.unicodeScalars.append(character)
            }
        }
        return result
    }

    private static func number(_ value: Double) -> String {
        if let whole = Int64(exactly: value) { return "\(whole)" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        return value.isNaN ? "NaN" : "\(value)"
    }
}
