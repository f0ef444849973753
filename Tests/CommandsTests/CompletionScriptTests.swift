import Commands
import Testing

@Suite("Completion")
struct CompletionScriptTests {
    @Test("every shell is told every command and option", arguments: CompletionScript.shells)
    func complete(shell: String) throws {
        let text = try #require(CompletionScript.text(for: shell))
        for command in CommandDeclaration.all {
            #expect(text.contains(command.name))
            for option in command.options {
                #expect(text.contains(shell == "fish" ? "-l \(option.name)" : "--\(option.name)"))
            }
            for option in command.hidden { #expect(!text.contains(option.name)) }
        }
    }

    @Test("values that are words are offered, and what they stand for is not")
    func values() throws {
        let bash = try #require(CompletionScript.text(for: "bash"))
        #expect(bash.contains("'replay --speed') COMPREPLY=($(compgen -W '1 10 max'"))
        #expect(bash.contains("'replay --to') COMPREPLY=($(compgen -W 'simulator'"))
        #expect(bash.contains("'run --state-dir') COMPREPLY=($(compgen -d"))
    }

    @Test("another shell is not known")
    func unknown() { #expect(CompletionScript.text(for: "csh") == nil) }
}

@Suite("The systemd unit")
struct SystemdUnitTests {
    @Test("what systemd would read as something else is escaped")
    func escapes() {
        let unit = SystemdUnit(
            program: "/opt/100% \"my\"/sophon$bridge", environment: [(name: "PATH", value: "/a b:/c%d$e")],
            environmentFile: "/etc/50%/bridge.env")
        let text = unit.text
        #expect(text.contains(#"ExecStart="/opt/100%% \"my\"/sophon$$bridge" "run""#))
        #expect(text.contains(#"Environment="PATH=/a b:/c%%d$e""#))
        #expect(text.contains("EnvironmentFile=-/etc/50%%/bridge.env"))
    }

    @Test("what only a person can mend is not tried again")
    func restarts() {
        let codes: [ExitCode] = [.usage, .tokenRefused, .stateInUse]
        let listed = codes.map { String($0.rawValue) }.joined(separator: " ")
        #expect(SystemdUnit(program: "/a").text.contains("RestartPreventExitStatus=\(listed)\n"))
    }

    @Test("an agent that is our child is not held by what holds the bridge")
    func children() {
        #expect(SystemdUnit(program: "/a").text.contains("MemoryDenyWriteExecute=yes"))
        #expect(!SystemdUnit(program: "/a", startsAgents: true).text.contains("MemoryDenyWriteExecute"))
        #expect(SystemdUnit(program: "/a", startsAgents: true).text.contains("NoNewPrivileges=yes"))
    }
}
