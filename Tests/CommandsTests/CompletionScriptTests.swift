import Commands
import Testing

@Suite("Completion")
struct CompletionScriptTests {
    private let script = CompletionScript(sampleCommands)

    @Test("every shell is told every command and option", arguments: CompletionScript.shells)
    func complete(shell: String) throws {
        let text = try #require(script.text(for: shell))
        for command in sampleCommands {
            #expect(text.contains(command.name))
            for option in command.options {
                #expect(text.contains(shell == "fish" ? "-l \(option.name)" : "--\(option.name)"))
            }
            for option in command.hidden { #expect(!text.contains(option.name)) }
        }
    }

    @Test("values that are words are offered, and what they stand for is not")
    func values() throws {
        let bash = try #require(script.text(for: "bash"))
        #expect(bash.contains("'replay --speed') COMPREPLY=($(compgen -W '1 10 max'"))
        #expect(bash.contains("'replay --to') COMPREPLY=($(compgen -W 'simulator'"))
        #expect(bash.contains("'run --metrics') COMPREPLY=();"))
        #expect(bash.contains("'run --state-dir') COMPREPLY=($(compgen -d"))
    }

    @Test("another shell is not known")
    func unknown() { #expect(script.text(for: "csh") == nil) }
}
