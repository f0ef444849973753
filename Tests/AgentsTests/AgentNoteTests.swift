import AgentKit
import Testing

@Suite("Notes of a connection with sealed chats")
struct AgentNoteTests {
    @Test(
        "words of the far side are left out, those of the bridge stay",
        arguments: [
            (
                "the server complained: rosebud",
                "the server complained (its words are not shown, since chats are sealed)"
            ),
            (
                "no session could be made: 500 rosebud: rosebud",
                "no session could be made (its words are not shown, since chats are sealed)"
            ),
            ("a line of 9 bytes was skipped", "a line of 9 bytes was skipped"),
        ])
    func own(words: String, shown: String) { #expect(AgentNote.own(words) == shown) }
}
