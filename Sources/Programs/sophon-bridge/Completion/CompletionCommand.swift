import Commands
import Vocabulary

/// `completion bash|zsh|fish`
struct CompletionCommand: Command {
    static let declaration = CommandDeclaration(
        name: "completion", summary: "print what a shell needs to complete this command line",
        operands: "bash|zsh|fish", actions: CompletionScript.shells,
        examples: [
            "sophon-bridge completion bash > ~/.local/share/bash-completion/completions/sophon-bridge",
            "sophon-bridge completion fish > ~/.config/fish/completions/sophon-bridge.fish",
        ])

    private let command: ParsedCommand
    private let output: Output

    init(_ command: ParsedCommand, _ output: Output) {
        self.command = command
        self.output = output
    }

    func run() {
        let script = CompletionScript(CommandTable.declarations)
        let text = command.operands.first.flatMap(script.text) ?? ""
        output.event("completion", [("text", .string(text))])
        output.raw(text)
    }
}
