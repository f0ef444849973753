/// Finds the nearest valid name for options, commands and keys of the configuration.
package enum NearestName {
    /// The name with the fewest changes, or nil if it needs many.
    package static func to(_ name: String, among names: [String]) -> String? {
        let ranked = names.map { (name: $0, distance: distance(Array(name), Array($0))) }.min {
            $0.distance < $1.distance
        }
        guard let ranked, ranked.distance <= max(1, ranked.name.count / 3) else { return nil }
        return ranked.name
    }

    /// Number of letters added, omitted, changed, or swapped with their neighbour.
    private static func distance(_ left: [Character], _ right: [Character]) -> Int {
        // An argument far longer than any name is near to none: skip it, or a hostile one would cost quadratic time.
        guard left.count <= 100 else { return left.count }
        var rows = [Array(0...right.count)]
        for i in 0..<left.count {
            var row = [i + 1]
            for j in 0..<right.count {
                var best = min(rows[i][j + 1] + 1, row[j] + 1, rows[i][j] + (left[i] == right[j] ? 0 : 1))
                if i > 0, j > 0, left[i] == right[j - 1], left[i - 1] == right[j] {
                    best = min(best, rows[i - 1][j - 1] + 1)
                }
                row.append(best)
            }
            rows.append(row)
        }
        return rows[left.count][right.count]
    }
}
