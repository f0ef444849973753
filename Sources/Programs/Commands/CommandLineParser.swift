import Vocabulary

/// Request of the command line.
package enum Invocation: Sendable, Equatable {
    /// Names the command, or is nil if the help of the whole program is meant.
    case help(String?)
    case version(json: Bool)
    case command(ParsedCommand)
}

package struct ParsedCommand: Sendable, Equatable {
    package var name: String
    package var operands: [String] = []
    /// Options with a value.
    package var values: [String: String] = [:]
    /// Options with a value that may be repeated, in the order given.
    package var lists: [String: [String]] = [:]
    /// Switches that are on.
    package var switches: Set<String> = []
}

/// A mistake on the command line: what is wrong, and a line to try.
package struct UsageError: Error, Sendable, Equatable, CustomStringConvertible {
    package var message: String
    package var advice: String

    package init(_ message: String, try advice: String) {
        self.message = message
        self.advice = advice
    }

    package var description: String { "\(message)\ntry: \(advice)" }
}

/// Long options, `--key value` or `--key=value`. Unknown and repeated ones are refused, with the nearest name.
package struct CommandLineParser {
    private let commands: [CommandDeclaration]

    package init(_ commands: [CommandDeclaration]) { self.commands = commands }

    package func parse(_ arguments: [String]) throws(UsageError) -> Invocation {
        guard let first = arguments.first else { return .help(nil) }
        if first == "help", arguments.count > 1, !arguments[1].hasPrefix("-") {
            guard commands.contains(where: { $0.name == arguments[1] }) else { throw unknownCommand(arguments[1]) }
            return .help(arguments[1])
        }
        if ["--help", "-h", "help"].contains(first) { return .help(nil) }
        if first == "--version" { return .version(json: arguments.contains("--json")) }
        guard let declaration = commands.first(where: { $0.name == first }) else {
            throw misplacedOption(first, arguments) ?? unknownCommand(first)
        }
        return try parse(Array(arguments.dropFirst()), declaration)
    }

    /// Error for an option of a command that stands before the command. The advice leaves out its value, which may be a token.
    private func misplacedOption(_ first: String, _ arguments: [String]) -> UsageError? {
        guard first.hasPrefix("--") else { return nil }
        let name = first.dropFirst(2).prefix { $0 != "=" }
        for command in commands where arguments.contains(command.name) {
            guard let option = command.shownOptions.first(where: { $0.name == name }) else { continue }
            return UsageError(
                "--\(name) stands before the command; options follow it",
                try: "sophon-bridge \(command.name) --\(name)" + (option.value.map { " \($0)" } ?? ""))
        }
        return nil
    }

    private func unknownCommand(_ name: String) -> UsageError {
        let names = commands.map(\.name)
        let near = NearestName.to(name, among: names).map { "; did you mean \($0)?" } ?? ""
        let kind = name.hasPrefix("-") ? "option" : "command"
        return UsageError(
            "there is no \(kind) \(name)\(near)\ncommands: \(names.joined(separator: ", "))",
            try: "sophon-bridge --help")
    }

    private func parse(
        _ arguments: [String], _ declaration: CommandDeclaration
    ) throws(UsageError) -> Invocation {
        let options = declaration.shownOptions + declaration.hidden
        let advice = "sophon-bridge \(declaration.name) --help"
        var parsed = ParsedCommand(name: declaration.name)
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if argument == "-h" || argument == "--help" { return .help(declaration.name) }
            if argument == "--" {
                parsed.operands += rest
                break
            }
            guard argument.hasPrefix("--") else {
                parsed.operands.append(argument)
                continue
            }
            let parts = argument.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(parts.first ?? "")
            guard let option = options.first(where: { $0.name == name }) else {
                let near = NearestName.to(name, among: options.map(\.name)).map { "; did you mean --\($0)?" } ?? ""
                throw UsageError("\(declaration.name) has no option --\(name)\(near)", try: advice)
            }
            guard parsed.values[name] == nil, !parsed.switches.contains(name) else {
                throw UsageError("--\(name) is given twice", try: advice)
            }
            guard let meaning = option.value else {
                guard parts.count == 1 else { throw UsageError("--\(name) takes no value", try: advice) }
                parsed.switches.insert(name)
                continue
            }
            let next = parts.count == 2 ? String(parts[1]) : rest.first.flatMap { $0.hasPrefix("--") ? nil : $0 }
            guard let value = next, !value.isEmpty else {
                throw UsageError("--\(name) needs a value: --\(name) \(meaning)", try: advice)
            }
            if parts.count == 1 { rest = rest.dropFirst() }
            if option.repeats {
                parsed.lists[name, default: []].append(value)
            } else {
                parsed.values[name] = value
            }
        }
        if !declaration.actions.isEmpty { try checkAction(of: parsed, declaration) }
        if declaration.operands == nil, let extra = parsed.operands.first {
            throw UsageError("\(declaration.name) takes no \(extra)", try: advice)
        }
        return .command(parsed)
    }

    private func checkAction(of parsed: ParsedCommand, _ declaration: CommandDeclaration) throws(UsageError) {
        let advice = declaration.examples.first ?? "sophon-bridge \(declaration.name) --help"
        let actions = declaration.actions
        guard let action = parsed.operands.first else {
            throw UsageError("\(declaration.name) needs one of \(actions.joined(separator: ", "))", try: advice)
        }
        guard actions.contains(action) else {
            let near = NearestName.to(action, among: actions).map { "; did you mean \($0)?" } ?? ""
            throw UsageError(
                "\(declaration.name) has no \(action)\(near)\nit has: \(actions.joined(separator: ", "))", try: advice)
        }
        let subject = declaration.subjects[action]
        if let subject, parsed.operands.count == 1 {
            throw UsageError("\(declaration.name) \(action) needs \(subject)", try: advice)
        }
        if let extra = parsed.operands.dropFirst(subject == nil ? 1 : 2).first {
            throw UsageError("\(declaration.name) \(action) takes no \(extra)", try: advice)
        }
    }
}
