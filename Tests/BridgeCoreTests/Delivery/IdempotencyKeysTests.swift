import BridgeCore
import Testing
import Vocabulary

@Suite("Idempotency keys")
struct IdempotencyKeysTests {
    private func all(_ turn: String, task: String = "call|1") -> [String] {
        let keys = IdempotencyKeys(turn: TurnID(turn))
        let task = TaskID(task)
        return [
            keys.open(), keys.open(form: 2), keys.delta(epoch: 1, number: 7), keys.delta(epoch: 17, number: 1),
            keys.taskStart(task), keys.taskUpdate(task, epoch: 2, number: 3), keys.taskEnd(task),
            keys.approval(ApprovalID("a")),
            keys.approval(ApprovalID("a"), form: 2), keys.end(), keys.end(form: 2), keys.message(.more(1)),
            keys.message(.more(1), form: 2), keys.message(.late), keys.message(.line(2)),
        ].map(\.text)
    }

    @Test("read as the design writes them")
    func form() {
        let keys = all("int_1")
        #expect(keys[0...3] == ["int_1-open", "int_1-open-2", "int_1-d1-7", "int_1-d17-1"])
        #expect(
            keys[9...] == ["int_1-end", "int_1-end-2", "int_1-more-1", "int_1-more-1-2", "int_1-late", "int_1-line-2"])
        #expect(keys[4].hasPrefix("int_1-t-") && keys[4].hasSuffix("-start"))
        #expect(keys[5].hasSuffix("-u2x3"))
    }

    @Test(
        "are 1 to 64 characters of the relay's alphabet, and all different",
        arguments: ["int_1", "", "int:1", "ünï", String(repeating: "a", count: 64), String(repeating: "b", count: 900)])
    func alphabet(turn: String) {
        let keys = all(turn, task: "call|\(turn)|ü")
        let allowed = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")
        #expect(keys.allSatisfy { (1...64).contains($0.utf8.count) && $0.allSatisfy(allowed.contains) })
        #expect(Set(keys).count == keys.count)
    }

    @Test("of turns that differ far behind do not meet")
    func apart() {
        let stem = String(repeating: "x", count: 80)
        #expect(Set(all(stem + "1")).isDisjoint(with: all(stem + "2")))
    }
}
