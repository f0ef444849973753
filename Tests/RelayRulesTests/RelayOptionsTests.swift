import RelayRules
import Testing
import Vocabulary
import Worlds

@Suite struct RelayOptionsTests {
    @Test func secretTokensHaveTheFormsOfThePrescribedOnesAndAreOthersEachTime() {
        var random = SeededGenerator(seed: 1)
        let drawn = (0..<3).map { _ in RelayOptions().withSecretTokens(using: &random) }
        let all = (drawn + [RelayOptions()]).flatMap { [$0.bridgeToken, $0.userToken] }
        #expect(Set(all).count == 8)
        for options in drawn {
            #expect(options.bridgeToken.wholeMatch(of: /inst_Simulator0000001:s_test_[0-9A-Za-z]{32}/) != nil)
            #expect(options.userToken.wholeMatch(of: /usr_test_[0-9A-Za-z]{26}/) != nil)
            var desk = SocketDesk { $0 = options }
            #expect(desk.call("GET", "/v1/me", token: options.userToken).status == 200)
            #expect(desk.call("GET", "/v1/me", token: RelayOptions().userToken).status == 401)
            #expect(desk.upgradeStatus(token: RelayOptions().bridgeToken) == 401)
        }
    }
}
