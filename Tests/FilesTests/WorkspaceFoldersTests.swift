import Files
import Glibc
import Testing
import Vocabulary

@Suite("Folders for agents")
struct WorkspaceFoldersTests {
    private let folder: Folder
    private let home: String
    private let folders: WorkspaceFolders

    init() throws {
        folder = try Folder()
        home = folder.path + "/home"
        for path in ["", "/config", "/config/keys", "/state", "/site", "/site/deep"] { mkdir(home + path, 0o700) }
        folders = WorkspaceFolders(home: home, configDirectory: home + "/config", stateDirectory: home + "/state")
    }

    private func words(_ path: String) -> String? {
        if case .unusable(let words) = folders.look(at: path) { words } else { nil }
    }

    @Test("a folder is found behind its links")
    func found() throws {
        let path = folder.path + "/link"
        #expect(symlink(home + "/site", path) == 0)
        guard let real = realpath(home + "/site", nil) else { return }
        defer { free(real) }
        #expect(folders.look(at: path) == .found(String(cString: real)))
        #expect(folders.look(at: home + "/site/deep/..") == .found(String(cString: real)))
    }

    @Test("what holds more than work is refused, also behind a link")
    func refused() throws {
        let path = folder.path + "/link"
        #expect(symlink(home, path) == 0)
        #expect(words("/")?.contains("the root of all files") == true)
        #expect(words(home)?.contains("the home directory itself") == true)
        #expect(words(path)?.contains("the home directory itself") == true)
        #expect(words(folder.path)?.contains("holds the home directory") == true)
        #expect(words(home + "/config/keys")?.contains("within the bridge's configuration directory") == true)
        #expect(words(home + "/state")?.contains("the bridge's state directory itself") == true)
        #expect(words(home + "/site/../state")?.contains("state directory itself") == true)
    }

    @Test("one that is gone, or is none, says what to do")
    func gone() throws {
        let file = home + "/site/file"
        close(open(file, O_CREAT | O_WRONLY, 0o600))
        #expect(words(home + "/gone")?.contains("is not there") == true)
        #expect(words(file)?.contains("is no folder") == true)
        #expect(words("site")?.contains("is not there") == true)
        for path in [home + "/gone", file] { #expect(words(path)?.contains("SOPHON_WORKSPACE") == true) }
    }
}
