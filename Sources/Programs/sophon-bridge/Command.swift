import Commands

/// A command of the program. Its folder holds its own code; code that several commands use lies beside the folders.
protocol Command: SendableMetatype {
    static var declaration: CommandDeclaration { get }
    /// Behaviour of the command if nobody reads its output.
    static var conduct: Output.Conduct { get }

    init(_ command: ParsedCommand, _ output: Output)
    func run() throws
}

extension Command {
    static var conduct: Output.Conduct { .results }
}

/// The commands, in the order of the help. A new one needs a folder and a line here.
enum CommandTable {
    static let all: [any Command.Type] = [
        RunCommand.self,
        RecordCommand.self,
        DemoCommand.self,
        ReplayCommand.self,
        SimulateCommand.self,
        PairCommand.self,
        LogoutCommand.self,
        DevicesCommand.self,
        DoctorCommand.self,
        StatusCommand.self,
        TopCommand.self,
        ConfigCommand.self,
        ExplainCommand.self,
        JournalCommand.self,
        ServiceCommand.self,
        CompletionCommand.self,
    ]

    static var declarations: [CommandDeclaration] { all.map { $0.declaration } }

    static func command(_ parsed: ParsedCommand, _ output: Output) -> (any Command)? {
        guard let type = all.first(where: { $0.declaration.name == parsed.name }) else { return nil }
        output.conduct(type.conduct)
        return type.init(parsed, output)
    }
}
