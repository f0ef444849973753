import AgentKit
import Testing
import Vocabulary

/// A card shows every effect of a yes: the bridge declares that it understands Codex's experimental fields.
@Suite("What a card of Codex shows")
struct CodexCardTests {
    private static func asked(_ members: String, _ method: String = "item/commandExecution/requestApproval") -> String {
        var codex = CodexConversation.going()
        return card(&codex, members, method)
    }

    private static func card(
        _ codex: inout CodexConversation, _ members: String, _ method: String = "item/commandExecution/requestApproval"
    ) -> String {
        let said = codex.says(
            #"{"id":0,"method":"\#(method)","params":{"threadId":"T","turnId":"U","itemId":"c1","startedAtMs":1,\#(members)}}"#
        )
        return said.filter { $0.contains("approval requested") }.joined(separator: "\n")
    }

    private static func tool(_ meta: String) -> String {
        asked(
            #""serverName":"garden","mode":"form","message":"Allow it?","_meta":{"codex_approval_kind":"mcp_tool_call",\#(meta)},"requestedSchema":{"type":"object","properties":{}}"#,
            "mcpServer/elicitation/request")
    }

    // MARK: The command

    @Test(
        "the whole command is shown, with the program that runs it",
        arguments: [
            "/srv/site/.tools/bash -lc 'git status'", "./evil -c 'git status'", "tar -c /etc/shadow",
            "/bin/bash -lc 'git status'", "bash -lc 'git status' x", "python3 -c 'x'",
        ])
    func wholeCommand(_ command: String) {
        #expect(Self.asked(#""command":"\#(command)""#).contains(#"command="\#(command)""#))
    }

    @Test(
        "the tool's card has the whole command, and a short title for the system's own shells alone",
        arguments: [
            ("/bin/bash -lc 'git status'", "git status"), ("/usr/bin/zsh -c ls", "ls"),
            (#"sh -c \"it's\""#, "it's"), (#"bash -lc 'a '\\''b'\\'''"#, "a 'b'"),
            ("/srv/site/.tools/bash -lc 'git status'", "/srv/site/.tools/bash -lc 'git status'"),
            ("bash -lc 'git status' x", "bash -lc 'git status' x"), ("bash -lc a;b", "bash -lc a;b"),
            (#"sh -c \"$HOME/x\""#, #"sh -c \"$HOME/x\""#),
            ("./bash -c 'a'", "./bash -c 'a'"), ("tar -c 'a'", "tar -c 'a'"), ("bash -c 'a", "bash -c 'a"),
        ])
    func toolCard(_ command: String, _ title: String) {
        var codex = CodexConversation.going()
        let said = codex.says(
            #"{"method":"item/started","params":{"threadId":"T","turnId":"U","item":{"type":"commandExecution","id":"c1","command":"\#(command)","cwd":"/w","status":"inProgress"}}}"#
        )
        #expect(said.contains { $0.contains(#"title="\#(title)""#) && $0.contains(#"{"command":"\#(command)""#) })
    }

    @Test("a command that is not named cannot be allowed")
    func noCommand() {
        #expect(Self.asked(#""reason":"Tidy up?""#).contains("allowed=deny"))
        #expect(Self.asked(#""command":"","reason":"Tidy up?""#).contains("allowed=deny"))
    }

    // MARK: Circumstances of the command

    @Test("the folder is shown, and where the command runs if that is not here")
    func place() {
        let card = Self.asked(#""command":"make","cwd":"/srv/other","environmentId":"remote-7""#)
        #expect(card.contains(#"folder="/srv/other""#) && card.contains(#"line="environmentId: remote-7""#))
        #expect(!Self.asked(#""command":"make","environmentId":"local""#).contains("line="))
    }

    @Test("a command leaves the sandbox, whether the model says why or not, and a long reason is whole")
    func reason() {
        #expect(Self.asked(#""command":"make","reason":"May I?""#).contains("leaves the sandbox"))
        #expect(Self.asked(#""command":"make","reason":null"#).contains("exec medium"))
        #expect(Self.asked(#""command":"make","reason":null"#).contains("leaves the sandbox"))
        let reason = String(repeating: "word ", count: 60) + "end"
        #expect(Self.asked(#""command":"make","reason":"\#(reason)""#).contains(#"line="reason: \#(reason)""#))
    }

    @Test("further permissions of a command are shown, with their paths and the network")
    func additionalPermissions() {
        let asked =
            #"{"network":{"enabled":true},"fileSystem":{"read":["/etc/ssl"],"write":["/home/ada"],"entries":[{"path":{"type":"special","value":{"kind":"root"}},"access":"write"}]}}"#
        let card = Self.asked(#""command":"ls","additionalPermissions":\#(asked)"#)
        #expect(card.contains("additionalPermissions: {") && card.contains("/home/ada"))
        #expect(card.contains(#"path="/etc/ssl" path="/home/ada" path="/""#))
        #expect(card.hasSuffix(" leaves the sandbox network"))
        let without = Self.asked(#""command":"ls","additionalPermissions":{"network":{"enabled":false}}"#)
        #expect(!without.hasSuffix(" network"))
    }

    @Test("a host is shown with all that is said of it, and no command", arguments: ["null", #""""#, #"" ""#])
    func host(command: String) {
        let network = #"{"host":"example.org","protocol":"socks5Tcp"}"#
        let card = Self.asked(#""command":\#(command),"networkApprovalContext":\#(network)"#)
        #expect(card.contains("Connect to example.org?") && !card.contains(" command="))
        #expect(card.contains(#"host="example.org""#) && card.contains("socks5Tcp") && card.contains(" network"))
        #expect(!card.contains("allowed=deny"))
    }

    @Test("input for a running process is asked for as such, once, with its bytes")
    func standardInput() {
        var codex = CodexConversation.going()
        let card = Self.card(
            &codex,
            #""kind":"writeStdin","approvalId":"s1","stdin":"yes\n","processId":"42","command":"psql","reason":"Go on?""#
        )
        #expect(card.contains("Send input to a running process?") && card.contains(#"command="yes\n""#))
        #expect(card.contains("processId: 42") && card.contains("command: psql") && card.contains("reason: Go on?"))
        #expect(card.contains("allowed=approve,deny"))
        #expect(codex.decides("U:c1:s1", .approve) == [#"send {"id":0,"result":{"decision":"accept"}}"#])
        let line = Self.asked(#""kind":"writeStdin","command":"write_stdin --session-id 42 'confirm'""#)
        #expect(line.contains(#"command="write_stdin --session-id 42 'confirm'""#))
    }

    @Test("the end of a process does not say what was decided about its input")
    func endOfProcess() {
        var codex = CodexConversation.going()
        _ = Self.card(&codex, #""kind":"writeStdin","approvalId":"s1","command":"yes""#)
        let said = codex.says(
            #"{"method":"item/completed","params":{"threadId":"T","turnId":"U","item":{"type":"commandExecution","id":"c1","command":"psql","status":"completed","exitCode":0}}}"#
        )
        #expect(!said.contains { $0.contains("decided") })
    }

    @Test("a field that nobody knows is shown as it came, and ids are not")
    func unknownFields() {
        let card = Self.asked(#""command":"ls","future":{"may":["fly"]},"kind":"teleport","empty":null"#)
        #expect(card.contains(#"line="future: {\"may\":[\"fly\"]}""#))
        #expect(card.contains("kind: teleport") && !card.contains("startedAtMs") && !card.contains("empty"))
    }

    @Test("a name that a server of tools chooses is no line of the bridge's own")
    func forgedName() {
        let card = Self.tool(#""tool_params":{},"Folder":"/srv/safe","A yes":"is harmless""#)
        #expect(card.contains(#"line="_meta.Folder: /srv/safe""#) && card.contains("_meta.A yes: is harmless"))
        #expect(!card.contains(#"line="Folder"#))
    }

    // MARK: Files

    @Test("a member of a change that is of another type than expected is shown as it came")
    func oddChange() {
        let changes = [
            #"{"path":"/w/a","kind":"erase","diff":{"removes":"/w"}}"#,
            #"{"path":["/w/b"],"kind":{"type":{"x":"chmod"},"move_path":{"to":"/etc/b"}},"diff":"d"}"#, #""/w/c""#,
        ]
        let card = Self.change(changes.joined(separator: ","), #""reason":null"#).replacing(#"\""#, with: "\"")
        for text in [
            #"{"removes":"/w"}"#, "erase", #"["/w/b"]"#, #"{"x":"chmod"}"#, #"{"to":"/etc/b"}"#, #""/w/c""#,
        ] { #expect(card.contains(text), "\(text) in \(card)") }
    }

    private static func change(_ changes: String, _ members: String) -> String {
        var codex = CodexConversation.going()
        _ = codex.says(
            #"{"method":"item/started","params":{"threadId":"T","turnId":"U","item":{"type":"fileChange","id":"c1","status":"inProgress","changes":[\#(changes)]}}}"#
        )
        return card(&codex, members, "item/fileChange/requestApproval")
    }

    @Test("a change of files is shown whole, with what is moved and deleted, and the root that it opens")
    func fileChange() {
        let changes = [
            #"{"path":"/w/a","kind":{"type":"add"},"diff":"text\n"}"#,
            #"{"path":"/w/b","kind":{"type":"delete"},"diff":"old\n"}"#,
            #"{"path":"/w/c","kind":{"type":"update","move_path":"/etc/c"},"diff":"@@\n-x\n+y\n"}"#,
            #"{"path":"/w/d","kind":{"type":"update","move_path":null},"diff":"@@\n+z\n","mode":"0777"}"#,
        ].joined(separator: ",")
        let card = Self.change(changes, #""reason":null,"grantRoot":"/srv""#)
        for part in [
            #"Add /w/a\ntext"#, #"Delete /w/b\nold"#, #"Move /w/c to /etc/c\n@@\n-x\n+y"#,
            #"Edit /w/d\nmode: 0777\n@@\n+z"#,
            #"line="grantRoot: /srv""#,
            #"path="/w/a" path="/w/b" path="/w/c" path="/etc/c" path="/w/d" path="/srv""#,
        ] { #expect(card.contains(part)) }
        #expect(!card.contains("allowed="))
    }

    @Test("a change of files that is not known cannot be allowed")
    func unknownChange() {
        let card = Self.asked(#""reason":null,"grantRoot":null"#, "item/fileChange/requestApproval")
        #expect(card.contains(" incomplete"))
    }

    @Test("a patch that the model still wrote when its item began is on the card as it ended")
    func writtenChange() {
        var codex = CodexConversation.going()
        func changes(_ text: String) -> String {
            #""changes":[{"path":"/w/a","kind":{"type":"add"},"diff":"\#(text)"}]"#
        }
        _ = codex.says(
            #"{"method":"item/started","params":{"threadId":"T","turnId":"U","item":{"type":"fileChange","id":"c1","status":"inProgress",\#(changes("some"))}}}"#
        )
        _ = codex.says(
            #"{"method":"item/fileChange/patchUpdated","params":{"threadId":"T","turnId":"U","itemId":"c1",\#(changes("all"))}}"#
        )
        #expect(Self.card(&codex, #""reason":null"#, "item/fileChange/requestApproval").contains("all"))
    }

    @Test("an item that begins again has the newer change on its card")
    func changedChange() {
        var codex = CodexConversation.going()
        for text in ["first", "second"] {
            _ = codex.says(
                #"{"method":"item/started","params":{"threadId":"T","turnId":"U","item":{"type":"fileChange","id":"c1","status":"inProgress","changes":[{"path":"/w/a","kind":{"type":"add"},"diff":"\#(text)"}]}}}"#
            )
        }
        #expect(Self.card(&codex, #""reason":null"#, "item/fileChange/requestApproval").contains("second"))
    }

    // MARK: Permissions and tools

    @Test("permissions are shown whole")
    func permissions() {
        let asked = #"{"network":{"enabled":true},"fileSystem":{"write":["/srv"]},"macos":{"calendar":true}}"#
        let card = Self.asked(
            #""permissions":\#(asked),"cwd":"/w","reason":"More?""#, "item/permissions/requestApproval")
        for part in ["calendar", #"folder="/w""#, #"path="/srv""#, " network", "enabled"] {
            #expect(card.contains(part))
        }
    }

    @Test("the parameters of a tool are the ones that it gets, whatever is to be displayed")
    func toolParameters() {
        for display in ["", #","tool_params_display":[{"name":"bed","value":"north","display_name":"bed"}]"#] {
            let card = Self.tool(#""tool_params":{"bed":"south","wipe":true}\#(display),"connector_id":"mail-1""#)
            #expect(card.contains("wipe") && card.contains("south") && !card.contains("north"))
            #expect(card.contains("serverName: garden") && card.contains("connector_id: mail-1"))
        }
        let displayed = Self.tool(#""tool_params_display":[{"name":"bed","value":"north","display_name":"bed"}]"#)
        #expect(displayed.contains("north"))
    }

    @Test("a long question of a server is whole")
    func longMessage() {
        let message = String(repeating: "word ", count: 60) + "end"
        let card = Self.asked(
            #""serverName":"garden","mode":"form","message":"\#(message)","requestedSchema":{"properties":{}}"#,
            "mcpServer/elicitation/request")
        #expect(card.contains(#"message="\#(message)""#))
    }
}
