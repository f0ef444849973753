import Vocabulary

/// The help, made from the declarations.
package struct HelpText {
    package static let version = "0.1.0"

    private let commands: [CommandDeclaration]

    package init(_ commands: [CommandDeclaration]) { self.commands = commands }

    package func program() -> String {
        let width = commands.map(\.name.count).max() ?? 0
        let summaries = commands.map { "  \(padded($0.name, width))  \($0.summary)" }
        let codes = ExitCode.allCases.map { "  \(padded(String($0.rawValue), 2))  \($0.meaning)" }
        return """
            sophon-bridge carries an AI agent's runs to a phone.

            usage: sophon-bridge COMMAND [OPTIONS]

            \(summaries.joined(separator: "\n"))

              --help, --version, and --json on every command

            exit codes:
            \(codes.joined(separator: "\n"))

            try: sophon-bridge demo
            """
    }

    package func command(_ name: String) -> String {
        guard let declaration = commands.first(where: { $0.name == name }) else { return program() }
        let options = declaration.shownOptions
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

    private func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}
