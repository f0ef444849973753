package import ConfigurationFile
package import Vocabulary

/// What one agent's part of the configuration came to. Only its plug-in knows the type.
package protocol AgentValues: Hashable, Sendable {}

extension AgentValues {
    fileprivate func isSame(as other: any AgentValues) -> Bool { other as? Self == self }
}

/// The configured agent of a connection.
package struct AgentSettings: Hashable, Sendable {
    package var kind: AgentKind
    package var values: any AgentValues
    /// Keys with an explicit value, from the file or from the environment; the others hold their defaults.
    package var keysSet: Set<String>
    /// Variables of the bridge's environment that no child of it inherits: secrets of its own and of other agents.
    package var withheld: [String] = []

    package init(_ kind: AgentKind, _ values: any AgentValues, keysSet: Set<String> = []) {
        self.kind = kind
        self.values = values
        self.keysSet = keysSet
    }

    /// By what holds, wherever it comes from.
    package static func == (left: Self, right: Self) -> Bool {
        left.kind == right.kind && left.values.isSame(as: right.values)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(kind)
        hasher.combine(values)
    }
}

/// A connection's `agent` in the configuration, for its plug-in to read. Faults are collected, not thrown.
package struct AgentSection {
    package private(set) var reader: ConfigurationReader
    private let section: ConfigurationSection
    /// Of several connections none has a variable for itself.
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

    /// The value in force. `shared` is a variable that means every connection; `variable` belongs to one.
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

    /// Without encryption only where the way is private, or the host is allowed by name.
    package func address(_ schemes: [WebAddress.Scheme]) -> ValueForm<WebAddress> {
        .address(schemes, plain: allowPlain)
    }
    package var certificates: ValueForm<String> { .readableFile(home: homeDirectory) }
    package var directory: ValueForm<String> {
        .path("the path of a directory, from / or ~", home: homeDirectory)
    }
    package func home(_ path: String) -> String? { homeDirectory.map { $0 + "/" + path } }
}
