import BridgeService
import Testing
import Vocabulary

@Suite("Losses in the log")
struct LossLimitTests {
    private final class Talk {
        var limit = LossLimit()

        func loses(
            _ reason: String, _ remedy: String? = nil, of name: String = "home", on link: LinkName = .agent,
            after seconds: Int64 = 0
        ) -> Bool {
            limit.isNews(ConnectionName(name), link, reason, remedy: remedy, at: .zero + .seconds(seconds))
        }
    }

    @Test("a loss that repeats itself is news once an hour, and one whose remedy changes once a minute")
    func repeats() {
        let talk = Talk()
        #expect(talk.loses("pairing", "approve 1"))
        for seconds in stride(from: Int64(15), to: 3_600, by: 15) {
            #expect(!talk.loses("pairing", "approve 1", after: seconds))
        }
        #expect(talk.loses("pairing", "approve 1", after: 3_600))
        #expect(!talk.loses("pairing", "approve 2", after: 3_659))
        #expect(talk.loses("pairing", "approve 3", after: 3_660))
    }

    @Test("another link, connection or reason is news, and so is the first loss after a link that was back")
    func apart() {
        let talk = Talk()
        #expect(talk.loses("refused"))
        #expect(talk.loses("refused", on: .relay))
        #expect(talk.loses("refused", of: "other"))
        #expect(talk.loses("no route"))
        talk.limit.isBack(ConnectionName("home"), .agent)
        #expect(talk.loses("refused"))
        #expect(!talk.loses("refused", on: .relay))
    }
}
