import BridgeService
import Dispatch
import Locking
import Testing
import Vocabulary

@Suite("Folders that are looked at before a message is passed on")
struct SystemFoldersTests {
    @Test("one on a disk that hangs is refused, without another thread for it, until it answers")
    func hanging() {
        let (gate, looks) = (DispatchSemaphore(value: 0), Locked(0))
        let folders = SystemFolders(patience: .milliseconds(20)) { folder in
            let number = looks.withLock { looks in
                looks += 1
                return looks
            }
            if number == 1 { gate.wait() }
            return .found(folder)
        }
        let refused = FolderAnswer.unusable(
            "The disk of the workspace /mnt/far does not answer. Please mend that, and send it again.")
        for _ in 1...3 { #expect(folders.look(at: "/mnt/far") == refused) }
        #expect(looks.withLock(\.self) == 1)
        gate.signal()
        var last = folders.look(at: "/mnt/far")
        // The late answer is on its way. If it never comes, the time limit of the test run ends this.
        while last == refused { last = folders.look(at: "/mnt/far") }
        #expect(last == .found("/mnt/far"))
    }

    @Test("an answer within the patience is that of the disk")
    func prompt() {
        let folders = SystemFolders(patience: .seconds(60)) { .found($0 + "/") }
        #expect(folders.look(at: "/srv") == .found("/srv/"))
    }
}
