import AgentKit
import Testing
import Vocabulary

@testable import BridgeService

@Suite("What the relay may ask of a scheduler")
struct RoutinePolicyTests {
    private static let verbs = ["list", "status", "add", "update", "remove", "run", "runs"]

    private func verdicts(
        _ routines: Configuration.Routines, _ encryption: Encryption, hasHeldKey: Bool
    ) -> [String: RoutinePolicy.Verdict] {
        Dictionary(
            uniqueKeysWithValues: Self.verbs.map {
                ($0, RoutinePolicy.verdict($0, routines, encryption, hasHeldKey: hasHeldKey))
            })
    }

    @Test(
        "as it comes: all in the open; no reports and no prompts once there was a key; nothing where sealing is required"
    )
    func auto() {
        #expect(verdicts(.auto, .auto, hasHeldKey: false).values.allSatisfy { $0 == .asked })
        for (verb, verdict) in verdicts(.auto, .auto, hasHeldKey: true) {
            if verb == "runs" {
                guard case .refused = verdict else {
                    Issue.record("reports go out in the open")
                    continue
                }
            } else {
                #expect(verdict == .askedWithoutWords)
            }
        }
        for verdict in verdicts(.auto, .require, hasHeldKey: false).values {
            guard case .refused = verdict else {
                Issue.record("asked where sealing is required")
                continue
            }
        }
    }

    @Test("allowed by the person, all of it; switched off, none")
    func chosen() {
        #expect(verdicts(.allow, .require, hasHeldKey: true).values.allSatisfy { $0 == .asked })
        let off = verdicts(.off, .auto, hasHeldKey: false).values
        #expect(off.allSatisfy { if case .refused = $0 { true } else { false } })
    }

    @Test("a list that goes out without words is not searched for words either")
    func bare() {
        let asked = JSONText(
            unchecked: #"{"query":"zebra","sortBy":"name","includeDisabled":true,"limit":5,"offset":2}"#)
        #expect(RoutineCover.bare(asked, for: "list").text == #"{"includeDisabled":true,"limit":5,"offset":2}"#)
        #expect(RoutineCover.bare(asked, for: "add") == asked)
    }

    @Test(
        "an answer without words says when a routine runs, and nothing of how it is called, what it is told or has said"
    )
    func cover() {
        let document = JSONText(
            unchecked:
                #"{"jobs":[{"id":"j1","name":"secret words","enabled":true,"sessionTarget":"session:secret words","schedule":{"kind":"cron","expr":"0 7 * * *","tz":"Europe/Berlin"},"payload":{"kind":"agentTurn","message":"secret words","secret words":7},"description":"secret words","delivery":{"mode":"announce","to":"secret words"},"state":{"nextRunAtMs":5,"lastStatus":"ok","lastError":"secret words","notes":["secret words"]},"secret words":{"a":1}}],"total":1}"#
        )
        #expect(
            RoutineCover.covered(document).text
                == #"{"jobs":[{"id":"j1","enabled":true,"schedule":{"kind":"cron","expr":"0 7 * * *","tz":"Europe/Berlin"},"payload":{"kind":"agentTurn"},"delivery":{"mode":"announce"},"state":{"nextRunAtMs":5,"lastStatus":"ok"}}],"total":1}"#
        )
        let status = JSONText(unchecked: #"{"enabled":true,"storePath":"secret words","jobs":3,"nextWakeAtMs":null}"#)
        #expect(RoutineCover.covered(status).text == #"{"enabled":true,"jobs":3,"nextWakeAtMs":null}"#)
        let refusal = RoutineCover.covered(.refusedInItsWords("no routine secret words"))
        guard case .refused(let message) = refusal else {
            Issue.record("another answer")
            return
        }
        #expect(!message.contains("secret"))
        #expect(
            RoutineCover.covered(.refused(message: "name must be a text")) == .refused(message: "name must be a text"))
        #expect(RoutineCover.covered(JSONText(unchecked: "no JSON")).text == "{}")
    }
}
