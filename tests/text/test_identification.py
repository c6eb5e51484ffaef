import pytest

from isogloss.text import identify

SENTENCES = {
    "en": "The government announced new measures for small companies on Monday.",
    "de": "Die Regierung kündigte am Montag neue Maßnahmen für kleine Unternehmen an.",
    "sl": "Vlada je v ponedeljek napovedala nove ukrepe za majhna podjetja.",
    "es": "El gobierno anunció el lunes nuevas medidas para las pequeñas empresas.",
    "ru": "Правительство объявило новые меры для малых предприятий.",
    "zh": "政府周一宣布了针对小企业的新措施。",
    "ja": "政府は月曜日に中小企業向けの新しい措置を発表した。",
    "th": "รัฐบาลประกาศมาตรการใหม่สำหรับธุรกิจขนาดเล็กเมื่อวันจันทร์",
    "ar": "أعلنت الحكومة يوم الاثنين عن تدابير جديدة للشركات الصغيرة.",
    "hi": "सरकार ने सोमवार को छोटी कंपनियों के लिए नए उपायों की घोषणा की।",
}


@pytest.mark.parametrize("lang", SENTENCES)
def test_sentences_are_recognised(lang):
    code, probability = identify(SENTENCES[lang])
    assert code == lang
    assert 0 < probability <= 1


def test_a_short_list_of_languages_is_kept_to():
    assert identify(SENTENCES["sl"], among=["hr", "sk"])[0] in ("hr", "sk")
    assert identify(SENTENCES["sl"], among=["slv", "hr"])[0] == "sl"
    assert identify("Regjeringen kunngjorde nye tiltak.", among=["nb", "de"])[0] == "nb"
    assert identify(SENTENCES["sl"])[0] == "sl"


@pytest.mark.parametrize("text", ["", "   ", "12.5 %", "\ud800", "😀"])
def test_text_without_letters_has_no_language(text):
    assert identify(text) == (None, 0.0)


def test_bad_input_is_refused():
    with pytest.raises(TypeError, match="got bytes"):
        identify(b"text")
    with pytest.raises(ValueError, match="py3langid does not know szl; it knows ace, af"):
        identify("text", among=["szl", "pl"])
    with pytest.raises(ValueError, match="an empty list of languages"):
        identify("text", among=[])
    with pytest.raises(ValueError, match="'xx' is not known"):
        identify("text", among=["xx"])


def test_a_long_text_is_looked_at_in_part():
    assert identify(SENTENCES["de"] * 100_000)[0] == "de"
    assert identify(f"wort \ud800 {SENTENCES['de']}")[0] == "de"
