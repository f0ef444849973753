import Testing
import WebSocketCodec

/// One session and the test's side of it.
private final class SessionTalk {
    var session: WebSocketSession

    init(_ role: WebSocketRole = .server, limit: Int = 1_000_000) {
        session = WebSocketSession(role: role, messageLimit: limit, makeMask: role == .client ? { 0 } : nil)
    }

    func hears(_ bytes: [UInt8]) -> [WebSocketInput] {
        bytes.withUnsafeBytes { all in
            var inputs: [WebSocketInput] = []
            var rest = all
            while let input = session.receive(&rest) { inputs.append(input) }
            return inputs
        }
    }

    var ending: WebSocketEnding? { session.ending }
    var hasOutgoing: Bool { session.hasOutgoing }

    func says() -> [UInt8] { session.nextBatch()?.bytes ?? [] }
}

@Suite struct WebSocketSessionTests {
    private static let mask: [UInt8] = [0, 0, 0, 0]
    private static func toServer(_ opcode: UInt8, _ payload: [UInt8] = []) -> [UInt8] {
        Raw.frame(opcode, payload, mask: mask)
    }
    private static let normal: [UInt8] = [3, 232]

    @Test func messagesGoBothWays() {
        let talk = SessionTalk()
        #expect(talk.hears(Self.toServer(1, [97])) == [.text("a")])
        #expect(talk.says() == [])
        talk.session.send(OutgoingMessage(.text, [98]))
        talk.session.send(OutgoingMessage(.binary, [99]))
        #expect(talk.says() == Raw.frame(1, [98]) + Raw.frame(2, [99]))
        #expect(!talk.hasOutgoing)
    }

    @Test func aPingIsAnsweredAheadOfWhatWaits() {
        let talk = SessionTalk()
        talk.session.send(OutgoingMessage(.text, [98]))
        #expect(talk.hears(Self.toServer(9, [7])) == [.ping([7])])
        #expect(talk.says() == Raw.frame(10, [7]) + Raw.frame(1, [98]))
    }

    @Test func ofManyPingsTheLastIsAnswered() {
        let talk = SessionTalk()
        _ = talk.hears(Self.toServer(9, [1]) + Self.toServer(9, [2]))
        #expect(talk.says() == Raw.frame(10, [2]))
    }

    @Test func aCloseOfThePeerIsAnsweredWithItsCodeAndWhatWaitsIsDropped() {
        let talk = SessionTalk()
        talk.session.send(OutgoingMessage(.text, [98]))
        #expect(talk.hears(Self.toServer(8, [0x0F, 0xA1, 120]) + Self.toServer(1, [97])) == [])
        #expect(talk.ending == .closed(code: 4001, reason: "x", byPeer: true))
        #expect(talk.says() == Raw.frame(8, [0x0F, 0xA1, 120]))
        talk.session.send(OutgoingMessage(.text, [98]))
        talk.session.close(code: 1000, reason: "")
        #expect(!talk.hasOutgoing)
    }

    @Test func aCloseWithoutCodeIsAnsweredWithoutCode() {
        let talk = SessionTalk()
        _ = talk.hears(Self.toServer(8))
        #expect(talk.ending == .closed(code: nil, reason: "", byPeer: true))
        #expect(talk.says() == Raw.frame(8))
    }

    @Test func ourCloseFollowsWhatWaitsAndMessagesAfterItAreDropped() {
        let talk = SessionTalk()
        talk.session.send(OutgoingMessage(.text, [98]))
        talk.session.close(code: 1000, reason: "")
        talk.session.send(OutgoingMessage(.text, [99]))
        #expect(talk.says() == Raw.frame(1, [98]) + Raw.frame(8, Self.normal))
        #expect(talk.hears(Self.toServer(1, [97])) == [])
        #expect(talk.hears(Self.toServer(10, [1])) == [.pong([1])])
        #expect(talk.ending == nil)
        _ = talk.hears(Self.toServer(8, Self.normal))
        #expect(talk.ending == .closed(code: 1000, reason: "", byPeer: false))
        #expect(talk.says() == [])
    }

    @Test func closesThatCrossSendOneFrameEach() {
        let talk = SessionTalk()
        talk.session.close(code: 1000, reason: "ours")
        _ = talk.hears(Self.toServer(8, [0x0F, 0xA1]))
        #expect(talk.ending == .closed(code: 4001, reason: "", byPeer: false))
        #expect(talk.says() == Raw.frame(8, Self.normal + Array("ours".utf8)))
        #expect(talk.says() == [])
    }

    @Test func aFaultIsAnsweredWithItsCodeOnce() {
        let talk = SessionTalk(limit: 10)
        _ = talk.hears(Self.toServer(1, [UInt8](repeating: 97, count: 11)))
        guard case .fault(let fault) = talk.ending else { Issue.record("no fault"); return }
        #expect(fault.code == .messageTooLarge)
        let frame = talk.says()
        #expect(frame.first == 0x88)
        #expect(Array(frame[2..<4]) == [0x03, 0xF1])
        #expect(talk.hears(Self.toServer(1, [97])) == [])
        #expect(talk.says() == [])
    }

    @Test func aFaultAfterOurCloseHasLeftSendsNoSecondClose() {
        let talk = SessionTalk()
        talk.session.close(code: 1000, reason: "")
        _ = talk.says()
        _ = talk.hears(Raw.text("not masked"))
        #expect(talk.ending != nil)
        #expect(talk.says() == [])
    }

    @Test func aLongReasonIsCutBetweenCharacters() {
        let talk = SessionTalk()
        talk.session.close(code: 1000, reason: String(repeating: "ü", count: 100))
        let frame = talk.says()
        #expect(frame.count == 2 + 2 + 122)
        #expect(read(frame, pieces: 1).inputs == [.close(code: 1000, reason: String(repeating: "ü", count: 61))])
    }

    @Test func smallMessagesAreJoinedAndLargeOnesNotHeldBack() {
        let talk = SessionTalk()
        for _ in 0..<10 { talk.session.send(OutgoingMessage(.text, [UInt8](repeating: 97, count: 20_000))) }
        let first = talk.session.nextBatch()
        #expect(first?.cost == 4 * 20_014)
        #expect(first?.bytes.count == 4 * 20_004)
        var cost = first?.cost ?? 0
        while let batch = talk.session.nextBatch() { cost += batch.cost }
        #expect(cost == 10 * 20_014)
    }

    @Test func aClientMasksWhatItSendsAndReadsWhatIsNot() {
        let talk = SessionTalk(.client)
        talk.session.send(OutgoingMessage(.text, [98]))
        #expect(talk.says() == Raw.frame(1, [98], mask: Self.mask))
        #expect(talk.hears(Raw.text("a")) == [.text("a")])
    }
}
