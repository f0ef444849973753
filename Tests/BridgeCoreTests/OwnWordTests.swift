import Testing
import Vocabulary

@testable import BridgeCore

@Suite("Words that are the bridge's own")
struct OwnWordTests {
    @Test(
        "words with their arguments",
        arguments: [
            ("/bridge", .help(unknown: nil)), ("/bridge help", .help(unknown: nil)),
            (" /Bridge\nHelp ", .help(unknown: nil)),
            ("/bridge new", .new(workspace: nil)), ("/bridge new Site", .new(workspace: "Site")),
            ("/bridge workspaces", .workspaces), ("/BRIDGE STATUS", .status),
            ("/bridge stop", .stop), ("/bridge stop it", .help(unknown: "stop it")),
            ("/bridge dance", .help(unknown: "dance")), ("/bridge new a b", .help(unknown: "new a b")),
            ("/bridge status now", .help(unknown: "status now")),
        ] as [(String, OwnWord)])
    func read(text: String, word: OwnWord) { #expect(OwnWord(text) == word) }

    @Test(
        "everything else is the agent's",
        arguments: [
            "", "/", "/new", "/bridges", "/bridge-new", "bridge new", "say /bridge new", "//bridge", "/br idge",
            "/help",
            "/skip", "/bridge/new",
        ])
    func agents(text: String) { #expect(OwnWord(text) == nil) }

    private let two = Workspaces(
        standard: Workspace(name: "site", folder: "/srv/site"), others: [Workspace(name: "Api", folder: "/srv/api")])

    @Test(
        "a text that says stop and nothing else",
        arguments: [
            ("stop", .bare), ("Stop", .bare), (" STOP!\n", .bare), ("abort.", .bare), ("/stop", .command),
            ("/Abort", .command),
            ("stop it", nil), ("stopp", nil), ("", nil), ("/", nil), ("//stop", nil), ("don't stop", nil), (".", nil),
        ] as [(String, StopWord?)])
    func stops(text: String, word: StopWord?) { #expect(StopWord(text) == word) }

    @Test("a workspace is found by its name, in any case where that is clear")
    func named() {
        #expect(two.named("site")?.folder == "/srv/site")
        #expect(two.named("api")?.folder == "/srv/api")
        #expect(two.named("docs") == nil)
        #expect(two[nil]?.name == "site" && two["gone"] == nil)
    }

    @Test("the sentences say where a chat is")
    func sentences() {
        var settings = OwnWordSettings()
        settings.agent = "pi"
        var situation = OwnWordSituation()
        #expect(OwnWordAnswers.workspaces(settings, situation).hasPrefix("Pi works where it was set up to work"))
        settings.workspaces = two
        situation.workspace = "Api"
        #expect(
            OwnWordAnswers.workspaces(settings, situation) == "- site (/srv/site): default\n- Api (/srv/api): this chat"
        )
        (situation.isBusy, situation.waiting, situation.isPresent) = (true, 2, false)
        situation.remedy = "Start it."
        let status = OwnWordAnswers.status(settings, situation)
        #expect(status.contains("There is no connection to pi. Start it."))
        #expect(status.contains("A run goes on in this chat, and 2 messages wait."))
        #expect(status.contains("Workspace: Api (/srv/api)."))
        #expect(status.contains("Nothing goes on in any chat."))
        situation.chats = (1...23).map { number in
            ChatStanding(urgency: .works, since: .zero, place: "“\(number)”", state: "waits for you")
        }
        let lines = OwnWordAnswers.status(settings, situation).split(separator: "\n").filter { $0.hasPrefix("- ") }
        #expect(lines.count == 21 && lines.first == "- “1”: waits for you" && lines.last == "- and 3 more")
        situation.workspace = "gone"
        #expect(OwnWordAnswers.workspaces(settings, situation).contains("gone of this chat is not configured any more"))
    }
}
