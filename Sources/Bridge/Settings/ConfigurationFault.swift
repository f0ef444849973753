package import Vocabulary

/// One fault of the configuration: where it is, what was found, what was expected, and what to do.
package struct ConfigurationFault: Hashable, Sendable, CustomStringConvertible {
    /// A path such as `connections[0].relay.base_url`, or empty if the file as a whole is meant.
    package var path: String
    /// The finding; if the path is empty, a clause that names the file.
    package var found: String
    package var expected: String
    package var remedy: String

    package init(path: String, found: String, expected: String, remedy: String) {
        self.path = path
        self.found = found
        self.expected = expected
        self.remedy = remedy
    }

    package var description: String {
        "\(path.isEmpty ? "" : "\(path) is ")\(found), expected \(expected); \(remedy)"
    }
}

/// All faults, reported together.
package struct ConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
    package var faults: [ConfigurationFault]

    package init(faults: [ConfigurationFault]) { self.faults = faults }

    package var description: String { faults.map { "config: \($0)" }.joined(separator: "\n") }
}

/// Source of a value.
package enum ConfigurationOrigin: Hashable, Sendable, CustomStringConvertible {
    case fallback
    case file(String, line: Int)
    /// The file says `"${NAME}"`.
    case variable(String, file: String, line: Int)
    /// The file or the environment says `"@/path"`.
    indirect case contents(of: String, by: ConfigurationOrigin)
    case environment(String)
    case flag(String)

    package var description: String {
        switch self {
        case .fallback: "default"
        case .file(let file, let line): "\(file):\(line)"
        case .variable(let name, let file, let line): "environment \(name), by \(file):\(line)"
        case .contents(let path, let naming): "file \(path), by \(naming)"
        case .environment(let name): "environment \(name)"
        case .flag(let name): "--\(name)"
        }
    }

    /// How to change a value from this source.
    var remedy: String {
        switch self {
        case .fallback: "set it"
        case .file(let file, let line): "change line \(line) of \(file)"
        case .variable(let name, let file, let line): "set \(name) to another value, or change line \(line) of \(file)"
        case .contents(let path, .file(let file, let line)): "change \(path), or line \(line) of \(file)"
        case .contents(let path, let naming): "change \(path), or \(naming.remedy)"
        case .environment(let name): "set \(name) to another value, or unset it"
        case .flag(let name): "give --\(name) another value"
        }
    }
}

/// One value in force as it may be shown, without a secret.
package struct SettingInForce: Hashable, Sendable {
    package enum Shown: Hashable, Sendable {
        case value(JSONText)
        case secret
        case unset
    }

    package var path: String
    package var shown: Shown
    package var origin: ConfigurationOrigin
    /// Hash of the part that `shown` hides, so that a change of it can be seen, or nil if nothing is hidden.
    package var hidden: String?

    /// Variable of the environment whose value is for the bridge alone: one that the file names, or that holds a secret.
    package var privateVariable: String? {
        switch origin {
        case .variable(let name, _, _): name
        case .environment(let name), .contents(_, .environment(let name)): shown == .secret ? name : nil
        case .fallback, .file, .contents, .flag: nil
        }
    }
}
