"""Retrieval across languages: one short conversation told in six languages, each question asked in each.

    python bench/bench_languages.py

prints, for words alone, the English local model and the multilingual one, how often the fact that answers a question comes first
or among the first five, where both are of one language and where they are of two; and the cosines from which floors are chosen.
"""

from __future__ import annotations

from statistics import quantiles
from time import process_time
from typing import TYPE_CHECKING

from ctx_core.embeddings.base import embed_all, embed_query
from ctx_core.embeddings.minilm import MiniLmEmbedder
from ctx_core.embeddings.multilingual_e5 import MultilingualE5Embedder
from ctx_core.rehydrate.archive import Archive
from ctx_core.rehydrate.turns import Turn

if TYPE_CHECKING:
    from ctx_core.embeddings.base import Embedder

# One fact and one question in each of six languages.
FACTS = {
    "en": [
        (
            "My dentist is called Weber and her practice is on Moon Street.",
            "Do you remember where my dentist has her practice?",
        ),
        ("We are painting the kitchen dark green.", "What colour did we choose for the kitchen?"),
        ("My daughter is allergic to nuts.", "What can my daughter not eat?"),
        ("The train to Porto leaves at twenty to ten.", "When does our train go again?"),
        ("I start the new job at the bakery in May.", "When did I say that I begin my new work?"),
        ("The landlord raised the rent by forty euros.", "How much more do I pay for the flat?"),
        ("Our dog is afraid of thunderstorms.", "What scares our pet?"),
        ("I broke my left wrist while skiing.", "Which injury did I tell you about?"),
        ("The wifi password is on the back of the fridge.", "Where did I put the code for the internet?"),
        ("My brother studies law in Vienna.", "What is my brother learning at university?"),
    ],
    "es": [
        (
            "Mi dentista se llama Weber y su consulta está en la calle de la Luna.",
            "¿Recuerdas dónde tiene la consulta mi dentista?",
        ),
        ("Vamos a pintar la cocina de verde oscuro.", "¿Qué color elegimos para la cocina?"),
        ("Mi hija es alérgica a los frutos secos.", "¿Qué no puede comer mi hija?"),
        ("El tren a Oporto sale a las diez menos veinte.", "¿Cuándo salía nuestro tren?"),
        ("En mayo empiezo el nuevo trabajo en la panadería.", "¿Cuándo te dije que comienzo a trabajar?"),
        ("El casero subió el alquiler cuarenta euros.", "¿Cuánto más pago por el piso?"),
        ("Nuestro perro tiene miedo a las tormentas.", "¿Qué asusta a nuestra mascota?"),
        ("Me rompí la muñeca izquierda esquiando.", "¿De qué lesión te hablé?"),
        ("La contraseña del wifi está detrás de la nevera.", "¿Dónde puse la clave de internet?"),
        ("Mi hermano estudia derecho en Viena.", "¿Qué carrera hace mi hermano?"),
    ],
    "fr": [
        (
            "Ma dentiste s'appelle Weber et son cabinet est rue de la Lune.",
            "Tu te souviens où ma dentiste a son cabinet ?",
        ),
        ("On peint la cuisine en vert foncé.", "Quelle couleur a-t-on choisie pour la cuisine ?"),
        ("Ma fille est allergique aux noix.", "Qu'est-ce que ma fille ne peut pas manger ?"),
        ("Le train pour Porto part à dix heures moins vingt.", "Notre train part quand déjà ?"),
        ("Je commence le nouveau travail à la boulangerie en mai.", "Quand est-ce que je débute mon emploi ?"),
        ("Le propriétaire a augmenté le loyer de quarante euros.", "Je paie combien de plus pour l'appartement ?"),
        ("Notre chien a peur des orages.", "Qu'est-ce qui effraie notre animal ?"),
        ("Je me suis cassé le poignet gauche au ski.", "De quelle blessure je t'ai parlé ?"),
        ("Le mot de passe du wifi est derrière le frigo.", "Où j'ai mis le code internet ?"),
        ("Mon frère étudie le droit à Vienne.", "Que fait mon frère à l'université ?"),
    ],
    "de": [
        (
            "Meine Zahnärztin heißt Weber und ihre Praxis ist in der Mondstraße.",
            "Weißt du noch, wo meine Zahnärztin ihre Praxis hat?",
        ),
        ("Wir streichen die Küche dunkelgrün.", "Welche Farbe haben wir für die Küche gewählt?"),
        ("Meine Tochter ist allergisch gegen Nüsse.", "Was darf meine Tochter nicht essen?"),
        ("Der Zug nach Porto fährt um zwanzig vor zehn.", "Wann geht unser Zug nochmal?"),
        ("Im Mai fange ich in der Bäckerei an.", "Wann beginnt meine neue Arbeit?"),
        ("Der Vermieter hat die Miete um vierzig Euro erhöht.", "Wie viel mehr zahle ich für die Wohnung?"),
        ("Unser Hund hat Angst vor Gewittern.", "Was erschreckt unser Haustier?"),
        ("Ich habe mir beim Skifahren das linke Handgelenk gebrochen.", "Von welcher Verletzung habe ich erzählt?"),
        ("Das WLAN-Passwort klebt hinten am Kühlschrank.", "Wo habe ich den Internetcode hingetan?"),
        ("Mein Bruder studiert Jura in Wien.", "Was lernt mein Bruder an der Uni?"),
    ],
    "pt": [
        (
            "A minha dentista chama-se Weber e o consultório fica na rua da Lua.",
            "Lembra onde a minha dentista tem o consultório?",
        ),
        ("Vamos pintar a cozinha de verde escuro.", "Que cor escolhemos para a cozinha?"),
        ("A minha filha é alérgica a nozes.", "O que a minha filha não pode comer?"),
        ("O comboio para o Porto sai às vinte para as dez.", "Quando é mesmo o nosso comboio?"),
        ("Começo o novo trabalho na padaria em maio.", "Quando eu disse que inicio o emprego?"),
        ("O senhorio aumentou a renda quarenta euros.", "Quanto pago a mais pela casa?"),
        ("O nosso cão tem medo de trovoadas.", "O que assusta o nosso animal?"),
        ("Parti o pulso esquerdo a esquiar.", "De que lesão te falei?"),
        ("A senha do wifi está atrás do frigorífico.", "Onde pus o código da internet?"),
        ("O meu irmão estuda direito em Viena.", "Que curso faz o meu irmão?"),
    ],
    "it": [
        (
            "La mia dentista si chiama Weber e lo studio è in via della Luna.",
            "Ti ricordi dove ha lo studio la mia dentista?",
        ),
        ("Dipingiamo la cucina di verde scuro.", "Che colore abbiamo scelto per la cucina?"),
        ("Mia figlia è allergica alle noci.", "Cosa non può mangiare mia figlia?"),
        ("Il treno per Porto parte alle dieci meno venti.", "Quando parte il nostro treno?"),
        ("A maggio comincio il nuovo lavoro al panificio.", "Quando ho detto che inizio l'impiego?"),
        ("Il padrone di casa ha alzato l'affitto di quaranta euro.", "Quanto pago in più per l'appartamento?"),
        ("Il nostro cane ha paura dei temporali.", "Cosa spaventa il nostro animale?"),
        ("Mi sono rotto il polso sinistro sciando.", "Di che infortunio ti ho parlato?"),
        ("La password del wifi è dietro il frigo.", "Dove ho messo il codice di internet?"),
        ("Mio fratello studia legge a Vienna.", "Cosa fa mio fratello all'università?"),
    ],
}


def rank_answers(embedder: Embedder | None) -> tuple[list[int], list[int]]:
    """Return the ranks of the facts that answer, for questions in the language of the facts and in the five others."""
    same, other = [], []
    for told, facts in FACTS.items():
        archive = Archive(embedder=embedder)
        archive.append("u", [Turn(id=str(at), role="user", content=fact) for at, (fact, _) in enumerate(facts)])
        archive.search("u", "warm up", wait_seconds=60)
        for asked, questions in FACTS.items():
            for at, (_, question) in enumerate(questions):
                found = [hit.turn.id for hit in archive.search("u", question, top_k=10)]
                rank = found.index(str(at)) + 1 if str(at) in found else 99
                (same if told == asked else other).append(rank)
    return same, other


def describe(ranks: list[int]) -> str:
    return f"R@1 {sum(rank == 1 for rank in ranks) / len(ranks):.2f}  R@5 {sum(rank <= 5 for rank in ranks) / len(ranks):.2f}"


def print_cosines(embedder: Embedder) -> None:
    right, wrong = [], []
    for facts in FACTS.values():
        vectors = embed_all(embedder, [fact for fact, _ in facts])
        for at, (_, question) in enumerate(facts):
            query = embed_query(embedder, question)
            for number, vector in enumerate(vectors):
                cosine = sum(a * b for a, b in zip(query, vector, strict=True))
                (right if number == at else wrong).append(cosine)
    for name, values in (("answers", right), ("others", wrong)):
        cuts = quantiles(values, n=20)
        print(f"    {name}: 5 % {cuts[0]:.2f}  50 % {cuts[9]:.2f}  95 % {cuts[18]:.2f}  max {max(values):.2f}")


def main() -> None:
    for name, embedder in (
        ("words alone", None),
        ("local (English)", MiniLmEmbedder()),
        ("multilingual", MultilingualE5Embedder()),
    ):
        started = process_time()
        same, other = rank_answers(embedder)
        print(
            f"{name}: one language {describe(same)} · two languages {describe(other)} · CPU {process_time() - started:.1f} s"
        )
        if embedder:
            print_cosines(embedder)


if __name__ == "__main__":
    main()
