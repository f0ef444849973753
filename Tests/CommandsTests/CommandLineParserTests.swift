import Commands
import Testing
import Vocabulary

@Suite("The command line")
struct CommandLineParserTests {
    private let parser = CommandLineParser(sampleCommands)

    private func parsed(_ arguments: String...) throws -> ParsedCommand? {
        if case .command(let parsed) = try parser.parse(arguments) { parsed } else { nil }
    }

    @Test("a value stands behind its option or behind an equals sign")
    func values() throws {
        let apart = try parsed("replay", "a.jsonl", "--speed", "10", "--json")
        let joined = try parsed("replay", "--speed=10", "a.jsonl", "--json")
        #expect(apart?.values == ["speed": "10"])
        #expect(apart?.operands == ["a.jsonl"])
        #expect(apart?.switches == ["json"])
        #expect(joined?.values == apart?.values)
        #expect(joined?.operands == apart?.operands)
    }

    @Test("an option that may be repeated keeps all its values; a hidden one is taken")
    func repeated() throws {
        #expect(try parsed("simulate", "--fault", "a", "--fault=b")?.lists == ["fault": ["a", "b"]])
        #expect(try parsed("run", "--time-scale", "2")?.values == ["time-scale": "2"])
    }

    @Test("a word may be followed by what it is about")
    func subjects() throws {
        #expect(try parsed("devices", "allow", "a")?.operands == ["allow", "a"])
        #expect(try parsed("devices", "list")?.operands == ["list"])
    }

    @Test("what follows two dashes is no option")
    func dashes() throws {
        #expect(try parsed("replay", "--", "--odd.jsonl")?.operands == ["--odd.jsonl"])
    }

    @Test("help and version are asked for in the usual ways")
    func help() throws {
        #expect(try parser.parse([]) == .help(nil))
        #expect(try parser.parse(["--help"]) == .help(nil))
        #expect(try parser.parse(["demo", "-h"]) == .help("demo"))
        #expect(try parser.parse(["--version", "--json"]) == .version(json: true))
        #expect(try parser.parse(["help"]) == .help(nil))
        #expect(try parser.parse(["help", "run"]) == .help("run"))
        #expect(try parser.parse(["help", "--json"]) == .help(nil))
    }

    @Test(
        "a mistake is named with what may have been meant",
        arguments: [
            (["reply"], "replay"), (["demo", "--sped", "1"], "--speed"), (["replay", "--speed"], "1|10|max"),
            (["replay", "--speed", "--json"], "1|10|max"), (["demo", "--once", "--once"], "twice"),
            (["config"], "check, show, example"), (["config", "chekc"], "did you mean check?"),
            (["config", "show", "check"], "takes no check"), (["devices", "allow"], "allow needs an id"),
            (["devices", "allow", "a", "b"], "takes no b"), (["devices", "list", "a"], "takes no a"),
            (["demo", "--once=yes"], "no value"), (["demo", "extra"], "extra"), (["--spede"], "no option"),
            (["help", "rnu"], "did you mean run?"),
            (["--state-dir", "a", "run"], "try: sophon-bridge run --state-dir DIR"),
            (["--json", "run"], "options follow it"), (["--to=x", "replay"], "options follow it"),
            (["--sped", "demo"], "no option"),
        ])
    func mistakes(arguments: [String], mentions: String) {
        let error = #expect(throws: UsageError.self) { try parser.parse(arguments) }
        #expect(error?.description.contains(mentions) == true)
        #expect(error?.description.contains("try: sophon-bridge") == true)
    }

    @Test("the help names every command, option and exit code")
    func complete() {
        let help = HelpText(sampleCommands)
        for declaration in sampleCommands {
            #expect(help.program().contains(declaration.name))
            for option in declaration.options {
                #expect(help.command(declaration.name).contains("--\(option.name)"))
            }
            for option in declaration.hidden { #expect(!help.command(declaration.name).contains(option.name)) }
        }
        for code in ExitCode.allCases { #expect(help.program().contains(code.meaning)) }
    }
}
