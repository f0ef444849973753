import ConfigurationFile

/// Differences between two configurations that a running bridge can take; any other refuses the whole reload.
package enum Reload {
    /// Differing keys that only the next start can change, each once. Empty if the bridge can take every difference.
    package static func fixedKeys(from old: LoadedConfiguration, to new: LoadedConfiguration) -> [String] {
        let count = (old.configuration.connections.count, new.configuration.connections.count)
        guard count.0 == count.1 else { return ["connections"] }
        let before = byPath(old.settings)
        let after = byPath(new.settings)
        return Set(before.keys).union(after.keys).filter { !isReloadable($0) && before[$0] != after[$0] }.sorted()
    }

    private struct Compared: Equatable {
        var shown: SettingInForce.Shown
        var hidden: String?
    }

    private static func byPath(_ settings: [SettingInForce]) -> [String: Compared] {
        Dictionary(
            settings.map { ($0.path, Compared(shown: $0.shown, hidden: $0.hidden)) },
            uniquingKeysWith: { _, newer in newer })
    }

    /// Keys not named here are fixed, so that a new key stays fixed until its reload is implemented.
    private static func isReloadable(_ path: String) -> Bool {
        if ["log.level", "log.format", "allow_plain"].contains(path) || path.hasPrefix("limits.")
            || path.hasPrefix("notify.")
        {
            return true
        }
        let keys = [
            "relay.token", "agent.token", "agent.invite", "encryption", "devices", "when_asked", "when_unanswered",
            "severity", "routines",
        ]
        return path.hasPrefix("connections[") && keys.contains { path.hasSuffix("].\($0)") }
    }
}
