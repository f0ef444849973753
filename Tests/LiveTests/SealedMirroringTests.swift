import AgentKit
import Testing
import Vocabulary

@testable import BridgeService

@Suite("Runs that wait for a phone that may read them")
struct SealedMirroringTests {
    private static let session = AgentSession("agent:main:terminal")
    private static let chat = SessionID("ses_1")
    private static let nobody = Mirroring.Allowed(makesChats: false, begins: { _ in false })
    /// A phone is there without the key.
    private static let keyless = Mirroring.Allowed(begins: { _ in false })

    private static func signal(_ run: String, _ event: RunEvent = .started) -> RunSignal {
        RunSignal(run: RunID(run), session: session, event: event)
    }

    /// A mirroring with a chat whose key no phone has.
    private static func unreadable(_ deletedChats: Configuration.DeletedChats = .new) -> Mirroring {
        var mirroring = Mirroring(.all, deletedChats: deletedChats)
        mirroring.learn(chat, of: session)
        #expect(mirroring.heard(signal("a"), at: .zero, wall: 0, allowed: keyless) == .keep(session))
        return mirroring
    }

    @Test("without a phone no chat is asked for, each run is written down, and all are asked for when there is one")
    func noPhone() {
        var mirroring = Mirroring(.all)
        for run in ["a", "b"] {
            #expect(mirroring.heard(Self.signal(run), at: .zero, wall: 5, allowed: Self.nobody) == .keep(Self.session))
        }
        #expect(mirroring.record(of: Self.session).state == .wanted)
        #expect(mirroring.record(of: Self.session).runs.map(\.run) == ["a", "b"])
        #expect(mirroring.waitingForPhone(Self.nobody) == 2)
        #expect(mirroring.chatsToMake(at: .zero, allowed: Self.nobody) == [])
        #expect(mirroring.chatsToMake(at: .zero) == [Self.session])
        // Another process reads the record.
        var next = Mirroring(.all)
        let isOfUse = next.learn(mirroring.record(of: Self.session), of: Self.session, wall: 6)
        #expect(isOfUse && next.chatsToMake(at: .zero, allowed: Self.nobody) == [])
        #expect(next.chatsToMake(at: .zero) == [Self.session])
    }

    @Test(
        "in a chat whose key the phones lack a run waits, keeps its words and its place, and begins when they have it")
    func unreadable() {
        var mirroring = Self.unreadable()
        let text = Self.signal("a", .text(.append("x")))
        #expect(mirroring.heard(text, at: .zero, wall: 0, allowed: Self.keyless) == .none)
        // The second run does not overtake the first.
        #expect(mirroring.heard(Self.signal("b"), at: .zero, wall: 0) == .keep(Self.session))
        #expect(mirroring.unreadable.map(\.chat) == [Self.chat])
        #expect(mirroring.waitingForPhone(Self.keyless) == 2)
        #expect(mirroring.readable(Self.keyless).isEmpty)
        let begun = mirroring.readable(Mirroring.Allowed()).flatMap(\.begins)
        #expect(begun.map(\.run.text) == ["a", "b"] && begun.first?.said == [Self.signal("a"), text])
        #expect(mirroring.unreadable.isEmpty && mirroring.waitingForPhone(Self.keyless) == 0)
    }

    @Test("a chat that is made before its key is granted lets its runs wait, also over a restart")
    func madeWithoutKey() {
        var mirroring = Mirroring(.all)
        #expect(mirroring.heard(Self.signal("a"), at: .zero, wall: 5, allowed: Self.keyless) == .makeChat(Self.session))
        _ = mirroring.chatIsAsked(for: Self.session)
        let asked = mirroring.chatAnswered(.made(Self.chat), for: Self.session, at: .zero, allowed: Self.keyless)
        #expect(asked == .keyIsMissing)
        let record = mirroring.record(of: Self.session)
        #expect(record.state == .unreadable && RunChatRecord(record.bytes) == record)
        var next = Mirroring(.all)
        next.learn(Self.chat, of: Self.session)
        let isOfUse = next.learn(record, of: Self.session, wall: 6)
        #expect(isOfUse && next.unreadable.map(\.chat) == [Self.chat])
        let begun = next.readable(Mirroring.Allowed()).flatMap(\.begins)
        #expect(begun.map(\.run.text) == ["a"] && begun.first?.isUnseen == true)
        // The journal lost the chat, so the bridge asks for another.
        var other = Mirroring(.all)
        let isOfUseThere = other.learn(record, of: Self.session, wall: 6)
        #expect(isOfUseThere && other.chatsToMake(at: .zero) == [Self.session])
    }

    @Test("a chat that is deleted meanwhile: its runs get another, or none where none is wanted")
    func deleted() {
        var mirroring = Self.unreadable()
        _ = mirroring.chatDeleted(Self.chat)
        #expect(mirroring.unreadable.isEmpty && mirroring.chatsToMake(at: .zero) == [Self.session])
        var muted = Self.unreadable(.mute)
        _ = muted.chatDeleted(Self.chat)
        #expect(muted.unreadable.isEmpty && muted.chatsToMake(at: .zero) == [])
    }

    @Test("runs that wait are bounded: the oldest give way")
    func bounded() {
        var mirroring = Self.unreadable()
        for number in 0..<100 {
            _ = mirroring.heard(Self.signal("r\(number)"), at: .zero, wall: Int64(number), allowed: Self.keyless)
        }
        let runs = mirroring.readable(Mirroring.Allowed()).flatMap(\.begins).map(\.run.text)
        #expect(runs.count == 64 && runs.last == "r99")
    }
}
