"""Countries: their capitals, continents, adjectives, and other names that people use."""

from __future__ import annotations

from training.corpus.fact_tables import CAPITALS as FIRST_CAPITALS
from training.corpus.fact_tables import CONTINENTS as FIRST_CONTINENTS
from training.corpus.fact_tables import phrases, table

_MORE = {
    "Europe": table(
        """Andorra: Andorra la Vella; Belarus: Minsk; Bosnia and Herzegovina: Sarajevo; Cyprus: Nicosia;
        Liechtenstein: Vaduz; Luxembourg: Luxembourg City; Moldova: Chisinau; Monaco: Monaco; Montenegro: Podgorica;
        North Macedonia: Skopje; San Marino: San Marino"""
    ),
    "Asia": table(
        """Armenia: Yerevan; Azerbaijan: Baku; Bahrain: Manama; Brunei: Bandar Seri Begawan; Georgia: Tbilisi;
        Israel: Jerusalem; Kazakhstan: Astana; Kuwait: Kuwait City; Kyrgyzstan: Bishkek; the Maldives: Male;
        Myanmar: Naypyidaw; Oman: Muscat; Singapore: Singapore; Sri Lanka: Colombo; Syria: Damascus;
        Tajikistan: Dushanbe; Timor-Leste: Dili; Turkmenistan: Ashgabat; the United Arab Emirates: Abu Dhabi;
        Uzbekistan: Tashkent; Yemen: Sanaa"""
    ),
    "Africa": table(
        """Benin: Porto-Novo; Botswana: Gaborone; Burkina Faso: Ouagadougou; Burundi: Gitega; Cameroon: Yaounde;
        Cape Verde: Praia; the Central African Republic: Bangui; Chad: N'Djamena; the Comoros: Moroni;
        the Republic of the Congo: Brazzaville; the Democratic Republic of the Congo: Kinshasa; Djibouti: Djibouti;
        Equatorial Guinea: Malabo; Eritrea: Asmara; Eswatini: Mbabane; Gabon: Libreville; the Gambia: Banjul;
        Guinea: Conakry; Guinea-Bissau: Bissau; Ivory Coast: Yamoussoukro; Lesotho: Maseru; Liberia: Monrovia;
        Malawi: Lilongwe; Mauritania: Nouakchott; Mauritius: Port Louis; Niger: Niamey; Seychelles: Victoria;
        Sierra Leone: Freetown; Somalia: Mogadishu; South Sudan: Juba; Togo: Lome; Sao Tome and Principe: Sao Tome"""
    ),
    "North America": table(
        """Antigua and Barbuda: Saint John's; the Bahamas: Nassau; Barbados: Bridgetown; Belize: Belmopan;
        Dominica: Roseau; the Dominican Republic: Santo Domingo; El Salvador: San Salvador;
        Grenada: Saint George's; Guatemala: Guatemala City; Panama: Panama City; Saint Kitts and Nevis: Basseterre;
        Saint Lucia: Castries; Saint Vincent and the Grenadines: Kingstown; Trinidad and Tobago: Port of Spain"""
    ),
    "South America": table("Guyana: Georgetown; Suriname: Paramaribo"),
    "Oceania": table(
        """Kiribati: Tarawa; the Marshall Islands: Majuro; Micronesia: Palikir; Palau: Ngerulmud;
        Papua New Guinea: Port Moresby; the Solomon Islands: Honiara; Tonga: Nuku'alofa; Tuvalu: Funafuti;
        Vanuatu: Port Vila"""
    ),
}
CAPITALS = FIRST_CAPITALS | {country: city for part in _MORE.values() for country, city in part.items()}
CONTINENTS = FIRST_CONTINENTS | {country: part for part, countries in _MORE.items() for country in countries}

ADJECTIVES = table(
    """France: French; Germany: German; Italy: Italian; Spain: Spanish; Portugal: Portuguese; Greece: Greek;
    Austria: Austrian; Switzerland: Swiss; Belgium: Belgian; the Netherlands: Dutch; Denmark: Danish;
    Sweden: Swedish; Norway: Norwegian; Finland: Finnish; Iceland: Icelandic; Ireland: Irish;
    the United Kingdom: British; Poland: Polish; Hungary: Hungarian; Romania: Romanian; Bulgaria: Bulgarian;
    Serbia: Serbian; Croatia: Croatian; Slovenia: Slovenian; Slovakia: Slovak; Ukraine: Ukrainian; Russia: Russian;
    Estonia: Estonian; Latvia: Latvian; Lithuania: Lithuanian; Albania: Albanian; Malta: Maltese; Czechia: Czech;
    China: Chinese; Japan: Japanese; India: Indian; Thailand: Thai; Vietnam: Vietnamese; South Korea: South Korean;
    North Korea: North Korean; Mongolia: Mongolian; Nepal: Nepalese; Pakistan: Pakistani; Bangladesh: Bangladeshi;
    Indonesia: Indonesian; Malaysia: Malaysian; the Philippines: Philippine; Iran: Iranian; Iraq: Iraqi;
    Saudi Arabia: Saudi; Jordan: Jordanian; Lebanon: Lebanese; Turkey: Turkish; Afghanistan: Afghan; Qatar: Qatari;
    Cambodia: Cambodian; Laos: Laotian; Bhutan: Bhutanese; Egypt: Egyptian; Kenya: Kenyan; Ethiopia: Ethiopian;
    Nigeria: Nigerian; Ghana: Ghanaian; Morocco: Moroccan; Algeria: Algerian; Tunisia: Tunisian; Libya: Libyan;
    Sudan: Sudanese; Senegal: Senegalese; Mali: Malian; Uganda: Ugandan; Rwanda: Rwandan; Tanzania: Tanzanian;
    Zambia: Zambian; Zimbabwe: Zimbabwean; Angola: Angolan; Mozambique: Mozambican; Namibia: Namibian;
    Madagascar: Malagasy; South Africa: South African; the United States: American; Canada: Canadian;
    Mexico: Mexican; Cuba: Cuban; Jamaica: Jamaican; Haiti: Haitian; Costa Rica: Costa Rican; Honduras: Honduran;
    Nicaragua: Nicaraguan; Brazil: Brazilian; Argentina: Argentinian; Chile: Chilean; Peru: Peruvian;
    Colombia: Colombian; Venezuela: Venezuelan; Ecuador: Ecuadorian; Bolivia: Bolivian; Uruguay: Uruguayan;
    Paraguay: Paraguayan; Australia: Australian; New Zealand: New Zealand; Fiji: Fijian; Samoa: Samoan;
    Belarus: Belarusian; Cyprus: Cypriot; Moldova: Moldovan; Armenia: Armenian; Azerbaijan: Azerbaijani;
    Georgia: Georgian; Israel: Israeli; Kazakhstan: Kazakh; Syria: Syrian; Uzbekistan: Uzbek; Yemen: Yemeni;
    Botswana: Botswanan; Cameroon: Cameroonian; Liberia: Liberian; Malawi: Malawian; Somalia: Somali;
    Togo: Togolese; the Bahamas: Bahamian; the Dominican Republic: Dominican; Guatemala: Guatemalan;
    Panama: Panamanian; Guyana: Guyanese; Sri Lanka: Sri Lankan"""
)
OTHER_NAMES = {
    name: tuple(other.strip() for other in others.split(","))
    for name, others in table(
        """the United States: the USA, USA, the US, America, the United States of America, the U.S., the States;
        the United Kingdom: the UK, UK, Great Britain, Britain, England; the Netherlands: Netherlands, Holland;
        Czechia: the Czech Republic, Czech Republic; Russia: the Russian Federation; Turkey: Turkiye;
        the Philippines: Philippines; the United Arab Emirates: the UAE, UAE, United Arab Emirates;
        the Maldives: Maldives; the Bahamas: Bahamas; the Gambia: Gambia; Myanmar: Burma; Eswatini: Swaziland;
        Ivory Coast: Cote d'Ivoire, the Ivory Coast; Cape Verde: Cabo Verde; Timor-Leste: East Timor;
        the Democratic Republic of the Congo: DR Congo, the DRC; Bosnia and Herzegovina: Bosnia;
        North Macedonia: Macedonia; Trinidad and Tobago: Trinidad; Ireland: the Republic of Ireland;
        the Solomon Islands: Solomon Islands; the Marshall Islands: Marshall Islands;
        the Dominican Republic: Dominican Republic; China: the People's Republic of China; Iran: Persia"""
    ).items()
}
OTHER_CITY_NAMES = {
    "Washington": ("Washington DC", "Washington D.C.", "Washington, D.C."),
    "Kyiv": ("Kiev",),
    "Beijing": ("Peking",),
    "New Delhi": ("Delhi",),
    "Bern": ("Berne",),
    "Brasilia": ("Brasília",),
    "Bogota": ("Bogotá",),
}
# Places that have no capital in the table, though they are real; the model does not know about them.
OUTSIDE = phrases(
    """
    Bavaria, Texas, California, Florida, Scotland, Wales, Catalonia, Greenland, Sicily, Tuscany, Siberia, Tibet,
    Bali, Hawaii, Alaska, Quebec, Ontario, Queensland, Tasmania, Normandy, Brittany, Saxony, Tyrol, Crimea,
    Kashmir, Puerto Rico, Bermuda, Gibraltar, Europe, Africa, Asia, Antarctica, Mars, Jupiter, the moon, the Roman
    Empire, Prussia, Yugoslavia, Atlantis, Narnia, Gondor, Wakanda, Paris, Tokyo, London, Berlin, Rome, the ocean,
    the Sahara, Scandinavia, the Balkans, Virginia, Ohio, Nevada, Kerala, Punjab, Corsica, Sardinia, Lapland,
    Zanzibar, Babylon, Sparta, Carthage, the Aztecs, the Incas, Oz
    """
)
