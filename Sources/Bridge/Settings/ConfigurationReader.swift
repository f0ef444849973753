package import Vocabulary

/// An object of the file, or its place if it is missing.
package struct ConfigurationSection {
    package var path: String
    package var members: [ConfigurationValue.Member]

    package init(path: String, members: [ConfigurationValue.Member] = []) {
        self.path = path
        self.members = members
    }

    package func path(of key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }

    /// A member that is null counts as missing.
    package subscript(key: String) -> ConfigurationValue? {
        members.first { $0.name == key && $0.value.content != .null }?.value
    }
}

/// Takes values from their sources, one at a time, and remembers every fault and every origin.
package struct ConfigurationReader {
    private let sources: ConfigurationSources
    package private(set) var faults: [ConfigurationFault] = []
    package private(set) var settings: [SettingInForce] = []
    /// Variables that were looked up, by the path that they set.
    package private(set) var variables: [String: [String]] = [:]

    package init(_ sources: ConfigurationSources) { self.sources = sources }

    /// Checks that the value is an object with no other keys than these; keys that begin with `//` are comments.
    package mutating func section(
        _ value: ConfigurationValue?, at path: String, keys: [String]
    ) -> ConfigurationSection {
        guard let value else { return ConfigurationSection(path: path) }
        guard case .members(let members) = value.content else {
            let subject = path.isEmpty ? "\(sources.file?.name ?? "bridge.json") is " : ""
            complain(
                path, found: subject + value.content.shown, expected: "an object in braces", origin: origin(value))
            return ConfigurationSection(path: path)
        }
        let section = ConfigurationSection(path: path, members: members.filter { !$0.name.hasPrefix("//") })
        for member in section.members where !keys.contains(member.name) {
            let near = NearestName.to(member.name, among: keys)
            complain(
                section.path(of: member.name), found: "a key that is not known",
                expected: near ?? "one of \(keys.joined(separator: ", "))", origin: origin(member.value))
        }
        return section
    }

    /// The value in force: from a flag, else from the environment, else from the file, else the fallback.
    package mutating func value<Value>(
        _ key: String, of section: ConfigurationSection, as form: ValueForm<Value>, environment names: [String] = [],
        else fallback: Value, from fallbackOrigin: ConfigurationOrigin = .fallback
    ) -> Value {
        let path = section.path(of: key)
        if !names.isEmpty { variables[path] = names }
        guard let (content, origin) = candidate(path, section[key], names) else {
            remember(path, fallback, form, fallbackOrigin)
            return fallback
        }
        do {
            let value = try form.read(content)
            remember(path, value, form, origin)
            return value
        } catch {
            // A value from a reference may be a secret under the wrong key.
            let isHidden = form.isSecret || origin.isReference
            let found = error.found ?? (isHidden ? "a value that is not shown" : content.shown)
            let also = names.isEmpty || !origin.isFile ? nil : "set \(names[0])"
            complain(path, found: found, expected: error.expected, origin: origin, also: error.remedy ?? also)
            return fallback
        }
    }

    /// Reads a value that may be missing.
    package mutating func optional<Value>(
        _ key: String, of section: ConfigurationSection, as form: ValueForm<Value>, environment names: [String] = []
    ) -> Value? {
        value(key, of: section, as: form.optional, environment: names, else: nil)
    }

    /// Remembers a value that was read elsewhere. Without an origin nothing has set it.
    package mutating func remember(_ path: String, _ shown: JSONText, origin: ConfigurationOrigin? = nil) {
        settings.append(SettingInForce(path: path, shown: .value(shown), origin: origin ?? .fallback))
    }

    package mutating func complain(
        _ path: String, found: String, expected: String, origin: ConfigurationOrigin, also: String? = nil
    ) {
        let remedy = origin.remedy + (also.map { ", or \($0)" } ?? "")
        faults.append(ConfigurationFault(path: path, found: found, expected: expected, remedy: remedy))
    }

    package func origin(_ value: ConfigurationValue) -> ConfigurationOrigin {
        .file(sources.file?.name ?? "bridge.json", line: value.line)
    }

    private mutating func remember<Value>(
        _ path: String, _ value: Value, _ form: ValueForm<Value>, _ origin: ConfigurationOrigin
    ) {
        let shown: SettingInForce.Shown =
            if let text = form.show(value) { .value(text) } else if form.isSecret, origin != .fallback { .secret } else
            {
                .unset
            }
        settings.append(SettingInForce(path: path, shown: shown, origin: origin, hidden: form.hide(value)))
    }

    // MARK: Sources

    private mutating func candidate(
        _ path: String, _ value: ConfigurationValue?, _ names: [String]
    ) -> (ConfigurationValue.Content, ConfigurationOrigin)? {
        if let flag = sources.flags[path] { return (.string(flag.text), .flag(flag.name)) }
        for name in names {
            guard let text = sources.environment[name] else { continue }
            return text.hasPrefix("@/")
                ? contents(of: String(text.dropFirst()), path, by: .environment(name))
                : (.string(text), .environment(name))
        }
        return value.flatMap { resolved(path, $0) }
    }

    /// Resolves a reference: in the file `"${NAME}"` is a value of the environment; there and in the environment `"@/path"` is the contents of a
    /// file.
    private mutating func resolved(
        _ path: String, _ value: ConfigurationValue
    ) -> (ConfigurationValue.Content, ConfigurationOrigin)? {
        let written = origin(value)
        if case .list = value.content, value.strings.contains(where: \.isReference) {
            complain(
                path, found: "a list with \"${NAME}\" or \"@/path\" in it",
                expected: "texts as they are; such a text can stand for the whole list", origin: written)
            return nil
        }
        guard case .file(let file, let line) = written, case .string(let text) = value.content else {
            return (value.content, written)
        }
        if text.hasPrefix("@/") { return contents(of: String(text.dropFirst()), path, by: written) }
        guard text.contains("${") else { return (value.content, written) }
        guard let name = text.variableName else {
            complain(
                path, found: value.content.shown, expected: "\"${NAME}\" and nothing besides it", origin: written)
            return nil
        }
        guard let found = sources.environment[name] else {
            complain(
                path, found: "\"${\(name)}\", and \(name) is not set", expected: "a variable of the environment",
                origin: written, also: "set \(name)")
            return nil
        }
        return (.string(found), .variable(name, file: file, line: line))
    }

    private mutating func contents(
        of secret: String, _ path: String, by naming: ConfigurationOrigin
    ) -> (ConfigurationValue.Content, ConfigurationOrigin)? {
        let origin = ConfigurationOrigin.contents(of: secret, by: naming)
        let reason: String
        do {
            let bytes = try ConfigurationSources.read(secret, limit: ConfigurationSources.valueLimit, isOrdinary: true)
            if var text = String(validating: bytes, as: UTF8.self) {
                // One line break at the end is the editor's, and not part of the value.
                if text.hasSuffix("\r\n") || text.hasSuffix("\n") { text.removeLast() }
                return (.string(text), origin)
            }
            reason = "is no text"
        } catch { reason = error.reason }
        complain(path, found: "\"@\(secret)\", which \(reason)", expected: "a file with the value", origin: origin)
        return nil
    }
}

extension String {
    /// The name in `${NAME}`, if the text is that and nothing else.
    package var variableName: String? {
        guard hasPrefix("${"), hasSuffix("}") else { return nil }
        let name = dropFirst(2).dropLast()
        let isName = !name.isEmpty && name.utf8.allSatisfy { $0 == UInt8(ascii: "_") || Self.nameBytes.contains($0) }
        return isName ? String(name) : nil
    }

    /// True if the text means a value from elsewhere, or was meant to.
    fileprivate var isReference: Bool { contains("${") || hasPrefix("@/") }

    private static var nameBytes: [UInt8] {
        Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
    }
}

extension ConfigurationOrigin {
    fileprivate var isFile: Bool {
        switch self {
        case .file, .variable, .contents: true
        case .fallback, .environment, .flag: false
        }
    }

    fileprivate var isReference: Bool {
        switch self {
        case .variable, .contents: true
        case .fallback, .file, .environment, .flag: false
        }
    }
}
