import Sealing
import Testing
import Vocabulary

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

    @Test("an envelope of our own that comes back is known, and the empty form is no envelope")
    func replays() {
        var replays = ReplayGuard()
        #expect(!replays.isOurs("Ag=="))
        replays.said("Ag==")
        #expect(replays.isOurs("Ag=="))
        replays.said(Envelope.emptyText)
        #expect(!replays.isOurs(Envelope.emptyText) && ReplayGuard.mark(of: Envelope.emptyText) == nil)
    }

    @Test("what is remembered is bounded, and the latest is remembered longest")
    func bound() {
        var replays = ReplayGuard(limit: 10)
        for number in 0..<100 { replays.said("out\(number)") }
        #expect(replays.isOurs("out91") && !replays.isOurs("out0"))
    }
}
