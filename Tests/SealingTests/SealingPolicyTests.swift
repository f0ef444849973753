import BridgeModel
import Sealing
import Testing

@Suite("What is sealed")
struct SealingPolicyTests {
    @Test(
        "a turn is sealed if its message came sealed or its chat has a key",
        arguments: [
            (Encryption.auto, false, false, SealingPolicy.Verdict.open), (.auto, true, false, .sealed),
            (.auto, false, true, .sealed), (.auto, true, true, .sealed), (.require, false, false, .refusesOpen),
            (.require, false, true, .refusesOpen), (.require, true, false, .sealed), (.off, false, true, .open),
            (.off, true, false, .refusesSealed),
        ])
    func verdict(encryption: Encryption, cameSealed: Bool, hasKey: Bool, expected: SealingPolicy.Verdict) {
        #expect(SealingPolicy.verdict(cameSealed: cameSealed, hasKey: hasKey, encryption) == expected)
    }

    @Test("a chat of the bridge's own is sealed once the installation ever had a key, or must be")
    func ownChat() {
        #expect(!SealingPolicy.sealsOwnChat(hasHeldKey: false, .auto))
        #expect(SealingPolicy.sealsOwnChat(hasHeldKey: true, .auto))
        #expect(SealingPolicy.sealsOwnChat(hasHeldKey: false, .require))
        #expect(!SealingPolicy.sealsOwnChat(hasHeldKey: true, .off))
    }

    @Test("an old envelope under a new message's name is a replay, and so is one of our own; a resend is none")
    func replays() {
        var replays = ReplayGuard()
        #expect(replays.came("AQ==", as: MessageID("m1")) == .fresh)
        #expect(replays.came("AQ==", as: MessageID("m1")) == .resent)
        #expect(replays.came("AQ==", as: MessageID("m2")) == .replayed)
        replays.said("Ag==")
        #expect(replays.came("Ag==", as: MessageID("m3")) == .replayed)
        // The empty form is the same for all.
        replays.said(Envelope.emptyText)
        #expect(replays.came(Envelope.emptyText, as: MessageID("m4")) == .fresh)
        #expect(replays.came(Envelope.emptyText, as: MessageID("m5")) == .fresh)
    }

    @Test("what is remembered is bounded, and the latest is remembered longest")
    func bound() {
        var replays = ReplayGuard(limit: 10)
        for number in 0..<100 {
            #expect(replays.came("in\(number)", as: MessageID("m\(number)")) == .fresh)
            replays.said("out\(number)")
        }
        #expect(replays.came("in0", as: MessageID("x")) == .fresh)
        #expect(replays.came("in91", as: MessageID("x")) == .replayed)
        #expect(replays.came("out91", as: MessageID("x")) == .replayed)
        #expect(replays.came("out0", as: MessageID("y")) == .fresh)
    }
}
