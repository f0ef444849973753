import CPosix
import Glibc

/// Judges the file system of the state directory. SQLite's write-ahead log needs shared memory, locks between all
/// processes that use the file, and a working sync (https://www.sqlite.org/wal.html, "All processes using a database
/// must be on the same host computer").
package enum StateFileSystem {
    package enum Verdict: Hashable, Sendable {
        case fine
        /// One sentence, with the remedy.
        case warning(String)
        /// The bridge creates no journal there.
        case refusal(String)
    }

    /// `kind` is the `f_type` of statfs(2), or nil if unknown; `isAllowed` is the setting `any_filesystem`.
    package static func verdict(
        on directory: String, kind: UInt32?, holdsJournal: Bool, isAllowed: Bool
    ) -> Verdict {
        guard !isAllowed, let kind else { return .fine }
        if let network = name(ofNetwork: kind) {
            let fault =
                "\(directory) is on \(network), where the journal's locks and syncs do not hold between machines"
            if holdsJournal {
                return .warning(
                    "\(fault); move it to a disk of one machine, or set SOPHON_ANY_FILESYSTEM=1 if you know better")
            }
            return .refusal(
                "\(fault), and no journal begins there; set SOPHON_STATE_DIR to a directory on a disk of one machine, or "
                    + "SOPHON_ANY_FILESYSTEM=1 if you know better")
        }
        guard let shared = name(ofShared: kind) else { return .fine }
        return .warning(
            "\(directory) is on \(shared), which keeps locks and syncs only if what is behind it does; take a disk of this machine, or "
                + "set SOPHON_ANY_FILESYSTEM=1 if you know that it does")
    }

    /// Checks the directory, or its nearest existing parent.
    package static func look(at directory: String, isAllowed: Bool) -> Verdict {
        var (path, kind) = (directory, UInt32(0))
        while sb_file_system(path, &kind) != 0 {
            let parent = PrivateFile.directory(of: path)
            guard errno == ENOENT || errno == ENOTDIR, parent != path else { return .fine }
            path = parent
        }
        return verdict(
            on: directory, kind: kind, holdsJournal: access(directory + "/journal.db", F_OK) == 0, isAllowed: isAllowed)
    }

    // Magic numbers from linux/magic.h, and of file systems that it does not list.

    private static func name(ofNetwork kind: UInt32) -> String? {
        switch kind {
        case 0x6969: "nfs"
        case 0x517B: "smb"
        case 0xFF53_4D42: "cifs"
        case 0xFE53_4D42: "smb2"
        case 0x00C3_6400: "ceph"
        case 0x5346_414F, 0x6B41_4653: "afs"
        default: nil
        }
    }

    private static func name(ofShared kind: UInt32) -> String? {
        switch kind {
        case 0x0102_1997: "9p"
        // Both share one magic number.
        case 0x6573_5546: "fuse or virtiofs"
        default: nil
        }
    }
}
