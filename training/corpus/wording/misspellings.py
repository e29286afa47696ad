"""Spellings that people use for common words: mistakes by ear, and short forms."""

from __future__ import annotations

from training.corpus.fact_tables import table

_TEXT = """
    what: wat, waht, whta, wot, wht, whats; which: wich, whitch, whcih, witch; capital: capitol, captial, capitel,
    capitl, kapital; opposite: oposite, opossite, oppsite, opposit, oppisite, oposit, oppostie; symbol: simbol,
    symbl, sybmol, symbole, cymbol; chemical: chemial, chemicl, chemcial, kemical; element: elemnt, elment, elament;
    continent: continet, contenent, contnent, contintent, kontinent; country: contry, coutry, cuontry, countrie;
    colour: coulor, colur, coler, culor; color: colr, coler; sound: sonud, soud, sownd; noise: nois, noize, niose;
    animal: aminal, animl, animel; baby: babby, bayb, babie; called: caled, calld, colled; please: pls, plz, plese,
    pleas, pleese; the: teh, th, hte, da; you: u, yu, yuo, ya; your: ur, yor, youre; are: r, ar; know: no, kno,
    konw, knw; tell: tel, tll; thanks: thx, thnks, tanks, thanx; thank: thnk, tank; because: cuz, bc; does: dose,
    doe, dos; have: hav, hve, haev; many: meny, mny, manny; much: mutch, mch; how: hwo, hw; legs: legz, lges, leggs;
    there: their, ther, thre; between: betwen, beetween; plus: pluss, plis; minus: minos, mins, minnus; times: tims,
    tiems; calculate: calcualte, calulate, calculat; subtract: substract, subtrct, subtact; multiply: multipy,
    multply, multiplied, mulitply; difference: diference, differance, differnce; result: reslut, resalt; equals:
    equls, eqals; after: aftr, afer; before: befor, befroe, bfore; month: moth, mounth, munth; day: dya; days: dyas,
    dayz; week: weak, wek; year: yaer, yr; city: citty, ciy, cty; language: langage, languge, lenguage; currency:
    curency, currancy; spoken: spokn, spocken; plural: plurel, pural, pluarl; rhymes: rimes, ryhmes, rhimes; rhyme:
    rime, ryhme; word: wrod, werd; question: qestion, quesion, queston; answer: anser, awnser, answr; number: numbr,
    nuber, numer; name: nmae, nam; for: 4, fr, fro; to: 2, ot; and: n, an, adn, nd; is: iz, si; that: taht, dat,
    tht; with: wiht, wit, whit; want: wnat, wan, wanna; give: giv, gve, gimme; remember: remeber, rember, rememeber;
    mean: meen, maen; wanted: wnated; could: cud, coud; would: wuld, woud; can: cn, acn; like: liek, lik; forgot:
    forgt, forgor; hello: helo, hllo, hellow; antonym: antonim, anotnym, antnym; means: meens; belong: belog,
    bilong; number: nubmer; largest: lagrest, largst; biggest: bigest, biggst; uppercase: upercase, uppercse;
    capitals: capitls, captials; repeat: repeet, repaet, reapeat; write: rite, wirte, writ; count: cuont, conut;
    list: lsit, lst; from: form, frm; seconds: secons, seconts; minutes: minuts, mintues; hours: ours, houers;
    grams: gramms; kilogram: kilogramm; where: were, wher, whre, wheer; when: wen, whne, wehn; who: hoo, woh, whoo;
    why: y, wy, whi; this: dis, tihs, thsi;
    they: thay, tehy, dey; people: peple, poeple, ppl, peeple; speak: speek, spek, speack;
    money: mony, monney, munny; river: rivver, rivr; mountain: mountin, mountan, montain; planet: plannet, plante;
    ocean: oshun, ocen, ocaen; wrote: rote, wroet; painted: paintd, panted; invented: invetned, inventd; world: wrld,
    wolrd, werld; tomorrow: tommorow, tomorow, 2moro; today: tody, 2day, todya; weather: wether, wheather, waether;
    friend: freind, frend; school: skool, shcool, scool; homework: homwork, hoemwork; quiz: kwiz, quizz; think: fink,
    thnk, thikn; really: realy, rly, relly; favourite: favrite, favorit, faverite; beautiful: beutiful; forty: fourty;
    ninety: ninty;
    something: somthing, smth; anything: anythin, anyting; someone: somone;
    help: hlep, halp; again: agian, agen; about: abuot, abt, bout; should: shud, shoud;
    doesn't: doesnt, dosent; isn't: isnt, aint; don't: dont, dnt; can't: cant, carnt; i'm: im, iam; that's: thats;
    it's: its; i'd: id; won't: wont; didn't: didnt; what's: whats, wats; who's: whos, whose; let's: lets"""
MISSPELLINGS = {
    word: tuple(spelling.strip() for spelling in spellings.split(",")) for word, spellings in table(_TEXT).items()
}
CONTRACTIONS = {
    "what is": ("what's", "whats", "wats", "what s"),
    "how is": ("how's", "hows"),
    "who is": ("who's", "whos"),
    "where is": ("where's", "wheres"),
    "i am": ("i'm", "im"),
    "do not": ("don't", "dont"),
    "cannot": ("can't", "cant"),
    "it is": ("it's", "its"),
    "that is": ("that's", "thats"),
    "give me": ("gimme",),
    "want to": ("wanna",),
    "i would": ("i'd", "id"),
    "let us": ("let's", "lets"),
    "do you": ("d'you", "do ya", "do u"),
    "i do not know": ("idk", "dunno", "i dunno"),
}
