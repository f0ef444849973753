package import ConfigurationFile
package import Vocabulary

/// Values that a plug-in read from its part of the configuration. Only the plug-in knows the type.
package protocol AgentValues: Hashable, Sendable {}

extension AgentValues {
    fileprivate func isSame(as other: any AgentValues) -> Bool { other as? Self == self }
}

/// The configured agent of a connection.
package struct AgentSettings: Hashable, Sendable {
    package var kind: AgentKind
    package var values: any AgentValues
    /// Keys with an explicit value, from the file or the environment; all others have their defaults.
    package var keysSet: Set<String>
    /// Variables that no child of the bridge inherits: secrets of the bridge and of other agents.
    package var withheld: [String] = []

    package init(_ kind: AgentKind, _ values: any AgentValues, keysSet: Set<String> = []) {
        self.kind = kind
        self.values = values
        self.keysSet = keysSet
    }

    /// Compares the values in force, wherever they come from.
    package static func == (left: Self, right: Self) -> Bool {
        left.kind == right.kind && left.values.isSame(as: right.values)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(kind)
        hasher.combine(values)
    }
}

/// A connection's `agent` in the configuration, which its plug-in reads. Faults are collected, not thrown.
package struct AgentSection {
    package private(set) var reader: ConfigurationReader
    private let section: ConfigurationSection
    /// Variables of one connection apply only to the single connection of a configuration.
    private let isOnly: Bool
    private let allowPlain: [String]
    private let homeDirectory: String?
    package private(set) var keysSet: Set<String> = []

    package init(
        _ section: ConfigurationSection, reader: ConfigurationReader, isOnly: Bool, allowPlain: [String], home: String?
    ) {
        self.section = section
        self.reader = reader
        self.isOnly = isOnly
        self.allowPlain = allowPlain
        homeDirectory = home
    }

    /// The effective value. All connections share the variable `shared`; `variable` belongs to one.
    package mutating func value<Value>(
        _ key: String, as form: ValueForm<Value>, variable: String? = nil, shared: String? = nil, else fallback: Value
    ) -> Value {
        let names = [shared, isOnly ? variable : nil].compactMap(\.self)
        let value = reader.value(key, of: section, as: form, environment: names, else: fallback)
        if let origin = reader.settings.last?.origin, origin != .fallback { keysSet.insert(key) }
        return value
    }

    package mutating func optional<Value>(
        _ key: String, as form: ValueForm<Value>, variable: String? = nil, shared: String? = nil
    ) -> Value? {
        value(key, as: form.optional, variable: variable, shared: shared, else: nil)
    }

    /// Allows an unencrypted address only over a private way, or to a host that the configuration allows by name.
    package func address(_ schemes: [WebAddress.Scheme]) -> ValueForm<WebAddress> {
        .address(schemes, plain: allowPlain)
    }
    package var certificates: ValueForm<String> { .readableFile(home: homeDirectory) }
    package var directory: ValueForm<String> {
        .path("the path of a directory, from / or ~", home: homeDirectory)
    }
    package func home(_ path: String) -> String? { homeDirectory.map { $0 + "/" + path } }
}
