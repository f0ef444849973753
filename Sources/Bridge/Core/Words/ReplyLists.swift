/// Beginnings of replies that agree or refuse, in the languages that most people speak. A missing yes reads as a refusal, which allows
/// nothing.
enum ReplyLists {
    static let longestPhrase = 3

    /// Words to skip in front of the word that decides.
    static let fillers: Set = [
        "please", "pls", "well", "oh", "hey", "hi", "hm", "hmm", "um", "uh", "ah", "so", "and", "just", "bitte", "also",
        "por", "favor", "pues", "ay", "bon", "alors", "euh", "ну", "пожалуйста", "कृपया", "من", "فضلك", "per", "favore",
        "lütfen", "tolong",
    ]

    /// Words that add nothing behind a no.
    static let thanks: Set = [
        "thanks", "thank", "you", "thx", "danke", "gracias", "merci", "obrigado", "obrigada", "спасибо", "धन्यवाद",
        "ধন্যবাদ", "شكرا", "شكراً", "شکریہ", "grazie", "way", "it", "this", "that", "allowed",
    ]

    static let yes: Set = [
        // English.
        "yes", "yess", "yea", "yeah", "yep", "yup", "ya", "aye", "y", "ok", "okay", "okey", "oki", "k", "kk", "sure",
        "go",
        "allow", "allowed", "approve", "approved", "accept", "accepted", "agree", "agreed", "confirm", "confirmed",
        "affirmative", "absolutely", "certainly", "definitely", "exactly", "correct", "right", "alright", "fine",
        "good",
        "great", "perfect", "nice", "cool", "proceed", "continue", "granted", "permitted", "permit", "grant", "lgtm",
        "true", "of course", "do it", "do that", "do so", "run it", "no problem", "no worries", "no objection",
        "no objections", "no issue", "no issues", "not a problem", "why not", "by all means", "you may", "you can",
        // Spanish.
        "sí", "si", "sip", "vale", "claro", "dale", "adelante", "bueno", "bien", "permitir", "permite", "permitido",
        "acepto", "aceptar", "apruebo", "aprobar", "hazlo", "seguro", "correcto", "perfecto", "de acuerdo",
        "por supuesto", "no hay problema",
        // French.
        "oui", "ouais", "ouaip", "d'accord", "daccord", "bien sûr", "vas", "allez", "autoriser", "autorise", "autorisé",
        "accepte", "accepter", "approuve", "parfait", "ça", "certainement", "volontiers", "pas de problème",
        "pas de souci", "aucun problème",
        // Portuguese.
        "sim", "certo", "pode", "permita", "permitir", "aceito", "aprovo", "aprovado", "beleza", "tá", "isso",
        "com certeza",
        "sem problema", "sem problemas", "vá", "vai",
        // German.
        "ja", "jap", "jo", "jawohl", "klar", "gut", "gern", "gerne", "mach", "erlauben", "erlaube", "erlaubt",
        "zulassen",
        "genehmigt", "einverstanden", "natürlich", "sicher", "passt", "genau", "weiter", "in ordnung",
        "kein problem", "nichts dagegen",
        // Russian.
        "да", "ага", "угу", "ок", "окей", "хорошо", "ладно", "давай", "давайте", "конечно", "разрешаю", "разрешить",
        "разрешено", "можно", "согласен", "согласна", "подтверждаю", "верно", "отлично", "без проблем", "не вопрос",
        "нет проблем",
        // Hindi.
        "हाँ", "हां", "हा", "जी", "ठीक", "ओके", "अच्छा", "बिल्कुल", "ज़रूर", "जरूर", "अनुमति", "चलो", "सही", "करो", "कर दो",
        // Bengali.
        "হ্যাঁ", "হাঁ", "হা", "জি", "জ্বি", "ঠিক", "আচ্ছা", "ওকে", "অবশ্যই", "অনুমতি", "চলো", "করো",
        // Arabic.
        "نعم", "أجل", "اجل", "ايوه", "أيوه", "ايوا", "أيوا", "طيب", "حسنا", "حسناً", "تمام", "موافق", "موافقة", "اسمح",
        "أكيد",
        "اكيد", "بالتأكيد", "ماشي", "اوك", "أوكي", "لا مشكلة", "لا مانع", "لا بأس",
        // Urdu.
        "ہاں", "جی", "ٹھیک", "اچھا", "بالکل", "ضرور", "اجازت", "اوکے",
        // Italian, Turkish, Indonesian, Vietnamese, Korean.
        "sì", "certo", "va bene", "d'accordo", "permetti", "consenti", "procedi", "evet", "tamam", "olur", "peki",
        "elbette",
        "izin", "iya", "yoi", "baik", "boleh", "oke", "izinkan", "silakan", "vâng", "dạ", "được", "ừ", "đồng ý", "네",
        "예",
        "응", "그래", "좋아", "좋아요", "허용", "승인", "확인",
    ]

    static let no: Set = [
        "no", "nope", "nah", "nay", "n", "not", "never", "don't", "dont", "do not", "deny", "denied", "refuse",
        "refused",
        "reject", "rejected", "disallow", "forbid", "forbidden", "negative", "decline", "declined", "no way",
        "no thanks",
        "nunca", "jamás", "denegar", "deniega", "rechazar", "rechazo", "non", "jamais", "refuser", "refusé", "ne",
        "pas",
        "não", "nao", "negar", "recuso", "recusar", "nein", "nee", "nö", "nicht", "nie", "niemals", "ablehnen",
        "abgelehnt",
        "verboten", "нет", "не", "неа", "никогда", "запрещаю", "отказать", "отклонить", "नहीं", "नही", "ना", "न", "मत",
        "না", "নয়", "নাহ", "لا", "كلا", "ارفض", "أرفض", "مرفوض", "نہیں", "نہ", "مت", "rifiuta", "mai", "hayır", "yok",
        "asla", "tidak", "jangan", "nggak", "không", "đừng", "아니", "아니요", "아니오", "안돼", "안", "거부",
    ]

    /// Beginnings of replies in Chinese, Japanese, Thai.
    static let unspacedYes = [
        "好", "好的", "没有问题", "沒有問題", "没事", "沒事", "没有意见", "不介意", "是", "是的", "对", "對", "行", "可以", "没问题", "沒問題", "同意", "允许",
        "允許", "批准", "确认", "確認", "嗯", "当然",
        "當然", "继续", "繼續", "不错", "不錯", "没关系", "沒關係", "不要紧", "不要緊", "はい", "うん", "ええ", "いい", "良い", "よい", "オーケー", "オッケー",
        "了解", "許可", "承認", "お願い", "どうぞ", "大丈夫", "もちろん", "問題ない", "問題ありません", "別にいい", "構いません", "ノープロブレム", "ใช่", "ได้",
        "ตกลง", "โอเค", "อนุญาต", "ครับ",
        "ค่ะ",
        "แน่นอน", "ไม่มีปัญหา", "ไม่เป็นไร",
    ]
    static let unspacedNo = [
        "不", "不要", "不行", "不可以", "不能", "别", "別", "否", "拒绝", "拒絕", "禁止", "没有", "いいえ", "いや", "だめ", "ダメ", "駄目", "やめて",
        "しないで", "違う", "拒否", "ノー", "ไม่", "อย่า", "ปฏิเสธ",
    ]
}
