"""Small word lists for made-up names, places and dates, and the fixed words of documents. Knows nothing else."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What a language calls things in tables, captions, letters and running heads."""

    first_names: tuple[str, ...]
    last_names: tuple[str, ...]
    places: tuple[str, ...]
    companies: tuple[str, ...]
    months: tuple[str, ...]
    figure: str
    table: str
    page: str
    chapter: str
    contents: str
    index: str
    references: str
    note: str
    exhibit: str
    labels: tuple[str, ...]  # form fields and column heads
    greetings: tuple[str, ...]
    closings: tuple[str, ...]


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


NAMES = {
    "en": Vocabulary(
        _words("Ada Brian Clara Dennis Edith Frank Grace Henry Irene Jonas Karen Louis Maria Neil Olive Peter Ruth Samuel Tessa Victor"),
        _words("Abbott Barlow Carter Dunn Ellis Foster Griffin Hayes Irwin Jensen Keller Lowell Mercer Norris Osborn Parker Quinn Reed"),
        ("Ashford", "Bristol", "Cedar Falls", "Dover", "El Monte", "Fremont", "Long Beach", "New Haven", "Oakland", "Santa Rosa", "York"),
        ("Inc.", "Company", "& Sons", "Foods, Inc.", "Services LLC", "Holdings", "Group", "Manufacturing", "(Store #2154)", "Airways"),
        _words("January February March April May June July August September October November December"),
        "Figure", "Table", "Page", "Chapter", "Contents", "Index", "References", "Note", "Exhibit",
        ("Name", "Address", "Date", "Amount", "Description", "Status", "City", "Phone", "Reference", "Type", "Total", "Position", "Line",
         "Code", "Effective date", "No. of items", "Department", "Account number", "Date of birth", "Signature", "Office", "Period"),
        ("Dear Sir or Madam,", "Dear Ms. Parker:", "Dear colleagues,", "To whom it may concern:"),
        ("Yours faithfully,", "Sincerely,", "With best regards,", "Respectfully submitted,"),
    ),
    "de": Vocabulary(
        _words("Anna Bernd Carla Dieter Elke Franz Greta Heinz Ilse Jürgen Käthe Lothar"),
        _words("Albrecht Bäcker Döring Engel Fischer Groß Hübner Köhler Lehmann Müller Schäfer Weiß"),
        ("Aachen", "Bremen", "Dresden", "Göttingen", "Köln", "Lübeck", "München", "Würzburg"),
        ("GmbH", "AG", "& Co. KG", "e. V.", "Werke", "Verlag"),
        _words("Januar Februar März April Mai Juni Juli August September Oktober November Dezember"),
        "Abbildung", "Tabelle", "Seite", "Kapitel", "Inhalt", "Stichwortverzeichnis", "Literatur", "Hinweis", "Anlage",
        ("Name", "Anschrift", "Datum", "Betrag", "Bezeichnung", "Stand", "Ort", "Telefon", "Zeichen", "Art", "Summe", "Menge", "Bemerkung"),
        ("Sehr geehrte Damen und Herren,", "Liebe Kolleginnen und Kollegen,"),
        ("Mit freundlichen Grüßen", "Hochachtungsvoll"),
    ),
    "fr": Vocabulary(
        _words("Aline Benoît Chloé Denis Élise François Gérard Hélène Irène Jérôme Léa Noël"),
        _words("Aubert Bernard Chevalier Dubois Étienne Fournier Garçon Lefèvre Moreau Roche Tessier"),
        ("Angers", "Besançon", "Clermont", "Évreux", "Lyon", "Nîmes", "Orléans", "Rennes"),
        ("S.A.", "et Fils", "SARL", "Frères", "Industrie"),
        _words("janvier février mars avril mai juin juillet août septembre octobre novembre décembre"),
        "Figure", "Tableau", "Page", "Chapitre", "Sommaire", "Index", "Bibliographie", "Remarque", "Annexe",
        ("Nom", "Adresse", "Date", "Montant", "Désignation", "État", "Ville", "Téléphone", "Référence", "Total", "Qté", "Observations"),
        ("Madame, Monsieur,", "Chers collègues,"),
        ("Veuillez agréer nos salutations distinguées.", "Cordialement,"),
    ),
    "es": Vocabulary(
        _words("Ana Benito Carmen Diego Elena Félix Gloria Héctor Inés José Lucía Martín"),
        _words("Álvarez Benítez Castro Domínguez Espinosa García Ibáñez López Muñoz Núñez Peña Ruiz"),
        ("Ávila", "Burgos", "Cádiz", "Gijón", "León", "Málaga", "Sevilla", "Zaragoza"),
        ("S.A.", "e Hijos", "S.L.", "y Cía.", "Hermanos"),
        _words("enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"),
        "Figura", "Tabla", "Página", "Capítulo", "Índice", "Índice alfabético", "Bibliografía", "Nota", "Anexo",
        ("Nombre", "Dirección", "Fecha", "Importe", "Descripción", "Estado", "Ciudad", "Teléfono", "Referencia", "Total", "Notas"),
        ("Estimados señores:", "Muy señor mío:"),
        ("Atentamente,", "Reciba un cordial saludo,"),
    ),
    "zh": Vocabulary(
        _words("伟 芳 娜 敏 静 丽 强 磊 军 洋 勇 艳 杰 娟 涛 明 超 秀兰 建国 晓红 文博 思远"),
        _words("王 李 张 刘 陈 杨 赵 黄 周 吴 徐 孙 胡 朱 高 林 何 郭 马 罗"),
        ("北京", "上海", "广州", "深圳", "杭州", "成都", "武汉", "西安", "南京", "苏州"),
        ("科技有限公司", "出版社", "研究所", "集团", "大学", "贸易公司"),
        tuple(f"{n}月" for n in range(1, 13)),
        "图", "表", "第", "章", "目录", "索引", "参考文献", "注意", "附件",
        ("姓名", "地址", "日期", "金额", "说明", "状态", "城市", "电话", "编号", "类型", "合计", "数量", "备注", "单位", "部门"),
        ("尊敬的先生：", "各位同事：", "您好！"),
        ("此致敬礼", "谨启", "顺颂商祺"),
    ),
}  # fmt: skip
