/// The bridge's own environment, less the variables that no agent may see, less `dropping`, with `adding`.
package struct ChildEnvironment: Hashable, Sendable {
    /// Names; a `*` at the end matches any rest.
    package var dropping: [String]
    /// Overrides inherited variables of the same name, even those in `dropping`.
    package var adding: [String: String]
    /// Inherited although a `*` of `dropping` covers them.
    package var keeping: Set<String>

    package init(dropping: [String] = [], adding: [String: String] = [:], keeping: Set<String> = []) {
        self.dropping = dropping
        self.adding = adding
        self.keeping = keeping
    }

    /// Secrets of the bridge, and variables of the service manager for the bridge alone: with `NOTIFY_SOCKET` a child could
    /// declare the bridge ready or stopping, and `LISTEN_*` names descriptors that the child does not have.
    package static let neverPassed = ["SOPHON_*", "NOTIFY_SOCKET", "WATCHDOG_*", "LISTEN_*", "CREDENTIALS_DIRECTORY"]

    /// `NAME=value` entries for the child, sorted by name. An entry without `=` or without a name is omitted.
    package func entries(of own: [String]) -> [String] {
        var values: [String: String] = [:]
        for entry in own {
            guard let equals = entry.firstIndex(of: "="), equals != entry.startIndex else { continue }
            let name = String(entry[..<equals])
            // The first of two entries counts, as for `getenv`.
            guard values[name] == nil, !isDropped(name) else { continue }
            values[name] = String(entry[entry.index(after: equals)...])
        }
        values.merge(adding) { _, added in added }
        return values.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
    }

    private func isDropped(_ name: String) -> Bool {
        if Self.neverPassed.contains(where: { Self.covers($0, name) }) || dropping.contains(name) { return true }
        return !keeping.contains(name) && dropping.contains { Self.covers($0, name) }
    }

    private static func covers(_ pattern: String, _ name: String) -> Bool {
        guard pattern.hasSuffix("*") else { return pattern == name }
        return name.hasPrefix(pattern.dropLast())
    }
}
