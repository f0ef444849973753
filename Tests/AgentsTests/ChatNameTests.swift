import AgentKit
import Testing
import Vocabulary

@testable import BridgeCore
@testable import OpenClaw

@Suite("What stands for a chat in an agent's session")
struct ChatNameTests {
    private static let chat = SessionID("ses_MVpMuyb0RVcXbqzT")

    private func openClaw(_ chat: SessionID) -> String { SessionNames.session(of: chat).text }

    @Test("a plain id is its own name, and small letters alone get a digest beside them")
    func plain() {
        #expect(ChatName.text(of: Self.chat) == "ses_MVpMuyb0RVcXbqzT")
        #expect(ChatName.text(of: SessionID("ses_1"), isLower: true) == "ses_1")
        let name = ChatName.text(of: Self.chat, isLower: true)
        #expect(name.hasPrefix("ses_mvpmuyb0rvcxbqzt-") && name.utf8.count == 53 && name == name.lowercased())
    }

    @Test("no chat that a relay names after another one's session gets that session")
    func chosen() {
        for isLower in [false, true] {
            let name = ChatName.text(of: Self.chat, isLower: isLower)
            let home = ChatHome(base: AgentSession(name), session: AgentSession(name))
            let renewed = home.renewed(by: TurnID("int_1"), in: nil).session.text
            for taken in [name, renewed, name.uppercased(), "\(name)-", renewed.uppercased()] {
                let other = ChatName.text(of: SessionID(taken), isLower: isLower)
                guard taken != Self.chat.text else { continue }
                #expect(![name, renewed].contains(isLower ? other.lowercased() : other), "\(taken)")
            }
        }
    }

    @Test("ids that differ in case alone, or by a hash that somebody searched for, have sessions of their own")
    func variants() {
        var names: Set<String> = []
        for number in 0..<4_096 {
            let text = String(
                "abcdefghijkl".enumerated().map {
                    number >> $0.offset & 1 == 1 ? Character($0.element.uppercased()) : $0.element
                })
            names.insert(openClaw(SessionID("ses_\(text)")).lowercased())
        }
        #expect(names.count == 4_096)
        #expect(openClaw(SessionID("a b|c")).hasPrefix("agent:main:sophon-chat-"))
    }
}
