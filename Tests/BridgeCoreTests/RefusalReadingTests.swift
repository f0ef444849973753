import Testing

@testable import BridgeCore

@Suite("What a message says while a card is open")
struct RefusalReadingTests {
    @Test(
        "Short messages in the languages that most people speak decide nothing",
        arguments: [
            "yes", "OK!", "sure", "Yes please", "go ahead", "👍", "...", "do it", "make clean", "allow",
            "是的", "好", "可以", "没问题", "同意",
            "हाँ", "ठीक है", "जी हाँ", "अनुमति है",
            "sí", "claro", "De acuerdo", "dale ya",
            "oui", "d'accord", "vas-y", "bien sûr",
            "نعم", "تمام", "لا مشكلة", "موافق",
            "হ্যাঁ", "ঠিক আছে", "আচ্ছা", "অনুমতি দিলাম",
            "sim", "claro", "pode ser",
            "да", "хорошо", "без проблем", "давай",
            "ہاں", "ٹھیک ہے",
            "はい", "いいよ", "ok, 继续", "Super 好的", "没有问题", "ja", "네", "evet", "1", "",
        ])
    func short(text: String) { #expect(RefusalReading(text) == .decidesNothing) }

    @Test(
        "A message that begins with a yes decides nothing, however long it is",
        arguments: [
            "Yes, but please run the tests first and tell me what they say",
            "ok, go on and then clean the build folder as well",
            "Sure, that is what I meant all along", "Please go ahead with all of it now",
            "是的，请继续并且告诉我结果怎么样", "हाँ, लेकिन पहले सारे टेस्ट चला दो",
            "sí, hazlo y luego borra la carpeta de compilación", "oui, allez-y et dites-moi ce que ça donne",
            "نعم من فضلك افعل ذلك ثم أخبرني بالنتيجة", "да, конечно, запускай всё и потом расскажи",
            "No problem, go ahead with the removal", "Por supuesto, adelante con todo eso", "没有问题，继续吧",
            "別にいいよ、進めて", "ノープロブレム、続けて", "Pas de souci, vas-y donc", "ＯＫ、進めてください",
            "D’accord, fais tout ce que tu as proposé",
        ])
    func longYes(text: String) { #expect(RefusalReading(text) == .decidesNothing) }

    @Test(
        "An instruction refuses",
        arguments: [
            "use make clean instead", "run the tests before that", "no, use make clean", "Don't touch the build folder",
            "请先运行测试", "用make clean代替它", "पहले टेस्ट चलाओ फिर", "ejecuta primero las pruebas",
            "не трогай папку сборки", "いいえ、先にテストを実行して", "nein, nimm lieber make clean",
        ])
    func words(text: String) { #expect(RefusalReading(text) == .refuses(text)) }

    @Test("Each yes of the lists decides nothing, whatever follows it")
    func everyYes() {
        let all = ReplyLists.yes.map { "\($0) and more of it" } + ReplyLists.unspacedYes.map { $0 + "请继续请继续" }
        #expect(all.filter { RefusalReading($0) != .decidesNothing } == [])
    }

    @Test(
        "A no refuses alone too",
        arguments: [
            "no", "No!", "nope", "Deny it", "no thanks", "不", "不要", "нет", "nein danke", "नहीं", "لا", "いいえ", "não",
        ])
    func alone(text: String) { #expect(RefusalReading(text) == .refusesAlone) }
}
