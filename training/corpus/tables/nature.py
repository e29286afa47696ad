"""Colours of things, and symbols of elements."""

from __future__ import annotations

from training.corpus import fact_tables
from training.corpus.fact_tables import table
from training.corpus.words import word_list

COLOURS = fact_tables.COLOURS | table(
    """a rose: red; a daffodil: yellow; a sunflower: yellow; a lime: green; a pea: green; a peach: orange;
    a raspberry: red; a beetroot: purple; a pickle: green; a chili: red; a radish: red; a mushroom: brown;
    a potato: brown; coffee: brown; cinnamon: brown; mud: brown; chalk: white; paper: white; rice: white; flour: white;
    a tooth: white; a bone: white; cream: white; a ghost: white; a cloud: white; a wedding dress: white;
    a chick: yellow; a bee: yellow; cheese: yellow; mustard: yellow; corn: yellow; a panther: black; ink: black;
    tar: black; oil: black; night: black; a stop sign: red; a heart: red; ketchup: red; a ladybird: red;
    a brick: red; rust: orange; a tiger: orange; a crocodile: green; a turtle: green; lettuce: green; moss: green;
    jade: green; a whale: blue; jeans: blue; a dolphin: grey; a rhino: grey; concrete: grey; smoke: grey; iron: grey;
    a flamingo feather: pink; bubble gum: pink; an amethyst: purple; an aubergine: purple; a violet: purple;
    a violin: brown; a teddy bear: brown; a bear: brown; a monkey: brown; Mars: red; the ocean: blue; fire: orange"""
)
ELEMENTS = fact_tables.ELEMENTS | table(
    """beryllium: Be; scandium: Sc; vanadium: V; gallium: Ga; germanium: Ge; selenium: Se; rubidium: Rb;
    strontium: Sr; zirconium: Zr; molybdenum: Mo; palladium: Pd; cadmium: Cd; antimony: Sb; caesium: Cs; osmium: Os;
    iridium: Ir; bismuth: Bi; radon: Rn; thorium: Th; plutonium: Pu; ruthenium: Ru; rhodium: Rh; indium: In"""
)
OTHER_ELEMENT_NAMES = {"aluminium": ("aluminum",), "sulfur": ("sulphur",), "caesium": ("cesium",)}
# Things that are not elements, although a question may ask for their symbol.
NO_ELEMENTS = tuple(
    word_list(
        """
        wood steel bronze brass water salt sugar glass plastic paper air stone milk vibranium kryptonite adamantium
        unobtainium rubber leather diamond amber sand oil coal wine bread soap concrete silk wool light fire mithril
        dilithium energy love happiness
        """
    )
)
