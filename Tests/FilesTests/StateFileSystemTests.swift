import Files
import Glibc
import Testing

@Suite("What file system the state lies on")
struct StateFileSystemTests {
    private enum Kind: String { case fine, warning, refusal }

    private func kind(_ verdict: StateFileSystem.Verdict) -> Kind {
        switch verdict {
        case .fine: .fine
        case .warning: .warning
        case .refusal: .refusal
        }
    }

    @Test(
        "a network's takes no new journal and warns of an old one, another machine's warns, a disk is fine",
        arguments: [
            (0x6969, "nfs"), (0x517B, "smb"), (0xFF53_4D42, "cifs"), (0xFE53_4D42, "smb2"), (0x00C3_6400, "ceph"),
            (0x5346_414F, "afs"), (0x6B41_4653, "afs"), (0x0102_1997, "9p"), (0x6573_5546, "fuse"), (0xEF53, nil),
            (0x5846_5342, nil), (0x9123_683E, nil), (0x0102_1994, nil), (0x794C_7630, nil), (nil, nil),
        ] as [(UInt32?, String?)])
    func verdicts(number: UInt32?, name: String?) {
        let isShared = name == "9p" || name == "fuse"
        for holdsJournal in [false, true] {
            let verdict = StateFileSystem.verdict(on: "/s", kind: number, holdsJournal: holdsJournal, isAllowed: false)
            let expected: Kind = name == nil ? .fine : holdsJournal || isShared ? .warning : .refusal
            #expect(kind(verdict) == expected)
            switch verdict {
            case .fine: break
            case .warning(let words), .refusal(let words):
                #expect(words.contains("/s is on \(name ?? "")"))
                #expect(words.contains("SOPHON_ANY_FILESYSTEM"))
            }
            #expect(
                StateFileSystem.verdict(on: "/s", kind: number, holdsJournal: holdsJournal, isAllowed: true) == .fine)
        }
    }

    @Test("a directory that is not there yet is judged by the one above it")
    func above() {
        // tmpfs, or whatever the machine has there.
        #expect(StateFileSystem.look(at: "/dev/shm/none/none", isAllowed: false) == .fine)
        #expect(StateFileSystem.look(at: "none/none", isAllowed: false) == .fine)
    }
}
