import Testing
import Vocabulary

@Suite("Files that come with a message")
struct MessageFileTests {
    @Test(
        "have a name of one line, without a path",
        arguments: [
            ("a.png", "a.png"), ("../../etc/passwd", "passwd"), ("C:\\temp\\b.txt", "b.txt"),
            ("a\nb\u{1B}[31m.txt", "ab31m.txt"),
            (" my   file.pdf ", "my file.pdf"), ("..", "file"), (".env", "env"), ("/", "file"),
            ("\u{202E}gpj.exe", "gpj.exe"),
            ("grüße 🦊.txt", "grüße 🦊.txt"), (nil, "file"),
        ] as [(String?, String)])
    func names(name: String?, plain: String) { #expect(Attachment(name: name).plainName == plain) }

    @Test("have a short name, and pictures one of their own")
    func others() {
        #expect(Attachment(name: String(repeating: "ä", count: 500)).plainName.utf8.count <= 120)
        #expect(Attachment(mimeType: "image/png").plainName == "picture")
    }

    @Test("alone are named to the agent; beside a text they are not")
    func prompt() {
        func prompt(_ text: String, _ names: String...) -> String {
            UserMessage(
                id: MessageID("m"), session: SessionID("s"), interaction: nil, text: text,
                attachments: names.map { Attachment(name: $0) }
            ).prompt
        }
        #expect(prompt("Look.", "a.png") == "Look.")
        #expect(prompt(" \n", "a.png", "b.pdf") == "Files sent: a.png, b.pdf")
        #expect(prompt(" ") == " ")
    }
}
