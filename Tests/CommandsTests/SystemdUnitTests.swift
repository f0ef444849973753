import Commands
import Testing
import Vocabulary

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

    @Test(
        "of a shell's PATH a service gets the absolute folders, each once",
        arguments: [
            ("/a:/b:/a", "/a:/b"), ("/a::.:b:~/c:/d e", "/a:/d e"), ("", ""), ("/usr/bin", "/usr/bin"),
        ])
    func path(shell: String, expected: String) { #expect(SystemdUnit.path(shell) == expected) }

    @Test("the unit says where it is described")
    func documentation() {
        #expect(SystemdUnit(program: "/a").text.contains("\nDocumentation=man:sophon-bridge(1) https://"))
    }

    @Test("what only a person can mend is not tried again")
    func restarts() {
        let codes: [ExitCode] = [.usage, .tokenRefused, .stateInUse]
        let listed = codes.map { String($0.rawValue) }.joined(separator: " ")
        #expect(SystemdUnit(program: "/a").text.contains("RestartPreventExitStatus=\(listed)\n"))
    }

    @Test("the manager hears when it is ready, reloads by SIGHUP, and ends one that gives no sign of life")
    func manager() {
        let lines = SystemdUnit(program: "/a").text.split(separator: "\n")
        for line in ["Type=notify", "NotifyAccess=main", "ExecReload=kill -HUP $MAINPID", "WatchdogSec=60"] {
            #expect(lines.contains { $0 == line })
        }
    }

    @Test("an agent that is our child is not held by what holds the bridge")
    func children() {
        #expect(SystemdUnit(program: "/a").text.contains("MemoryDenyWriteExecute=yes"))
        #expect(!SystemdUnit(program: "/a", startsAgents: true).text.contains("MemoryDenyWriteExecute"))
        #expect(SystemdUnit(program: "/a", startsAgents: true).text.contains("NoNewPrivileges=yes"))
        #expect(!SystemdUnit(program: "/a", startsAgents: true).text.contains("RestrictNamespaces"))
    }

    @Test("an agent may outlive the bridge's process")
    func outliving() {
        #expect(SystemdUnit(program: "/a", startsAgents: true).text.contains("KillMode=process\n"))
        #expect(!SystemdUnit(program: "/a").text.contains("KillMode"))
    }

    @Test(
        "a program that will not stay where it is gets no unit",
        arguments: [
            "/tmp" + "/sophon-bridge", "/var/tmp/a/sophon-bridge", "/dev/shm/x", "/run/user/1000/x", "/scratch/x",
            "/usr/bin/sophon-bridge (deleted)",
        ])
    func thrownAway(program: String) {
        #expect(SystemdUnit.whyNotKept(program, temporaryDirectory: "/scratch") != nil)
    }

    @Test("one that stays gets it", arguments: ["/usr/bin/sophon-bridge", "/home/ada/tmp/bridge", "/tmpfiles/bridge"])
    func kept(program: String) {
        #expect(SystemdUnit.whyNotKept(program, temporaryDirectory: nil) == nil)
        #expect(SystemdUnit.whyNotKept(program, temporaryDirectory: "/") == nil)
        #expect(SystemdUnit.whyNotKept(program, temporaryDirectory: "") == nil)
    }
}
