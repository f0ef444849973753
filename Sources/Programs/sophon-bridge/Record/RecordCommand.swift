import Commands

/// `record DIR`: `run --record DIR`.
struct RecordCommand: Command {
    static let declaration = CommandDeclaration(
        name: "record", summary: "run, and write every frame to recordings in a directory, without secrets",
        operands: "DIR", options: [.config, .stateDirectory],
        examples: ["sophon-bridge record ~/recordings"])
    static let conduct = RunCommand.conduct

    private let bridge: RunCommand

    init(_ command: ParsedCommand, _ output: Output) {
        var command = command
        command.values["record"] = command.operands.first
        bridge = RunCommand(command, output)
    }

    func run() throws { try bridge.run() }
}
