/// A counter for each combination of label values. All combinations exist from the start, at zero, and no other can be added: neither the
/// memory nor the page grows with the events.
package struct LabelledCounts: Sendable {
    private let columns: [[String]]
    private var counts: [UInt64]

    /// The values of each label, each once.
    package init(_ columns: [[String]]) {
        self.columns = columns
        counts = Array(repeating: 0, count: columns.reduce(1) { $0 * $1.count })
    }

    /// A value outside its column counts as `other`, or not at all if the column has no `other`.
    package mutating func count(_ values: String...) {
        precondition(values.count == columns.count, "a value for each label")
        var index = 0
        for (column, value) in zip(columns, values) {
            guard let place = column.firstIndex(of: value) ?? column.firstIndex(of: "other") else { return }
            index = index * column.count + place
        }
        counts[index] += 1
    }

    package var samples: [MetricSample] {
        counts.enumerated().map { index, count in
            var rest = index
            var labels: [String] = []
            for column in columns.reversed() {
                labels.append(column[rest % column.count])
                rest /= column.count
            }
            return MetricSample(labels.reversed(), Double(count))
        }
    }
}
