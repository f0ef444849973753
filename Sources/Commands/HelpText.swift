import BridgeModel

/// The help, made from the declarations.
package enum HelpText {
    package static let version = "0.1.0"

    package static func program() -> String {
        let width = CommandDeclaration.all.map(\.name.count).max() ?? 0
        let commands = CommandDeclaration.all.map { "  \(padded($0.name, width))  \($0.summary)" }
        let codes = ExitCode.allCases.map { "  \(padded(String($0.rawValue), 2))  \($0.meaning)" }
        return """
            sophon-bridge carries an AI agent's runs to a phone.

            usage: sophon-bridge COMMAND [OPTIONS]

            \(commands.joined(separator: "\n"))

              --help, --version, and --json on every command

            exit codes:
            \(codes.joined(separator: "\n"))

            try: sophon-bridge demo
            """
    }

    package static func command(_ name: String) -> String {
        guard let declaration = CommandDeclaration.all.first(where: { $0.name == name }) else { return program() }
        let options = declaration.options + [CommandDeclaration.json, CommandDeclaration.help]
        let left = options.map { "--\($0.name)" + ($0.value.map { " \($0)" } ?? "") }
        let width = left.map(\.count).max() ?? 0
        let lines = zip(left, options).map { "  \(padded($0, width))  \($1.help)" }
        return """
            usage: sophon-bridge \(name) \(declaration.operands.map { "\($0) " } ?? "")[OPTIONS]

            \(declaration.summary)

            \(lines.joined(separator: "\n"))

            examples:
            \(declaration.examples.map { "  \($0)" }.joined(separator: "\n"))
            """
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}
