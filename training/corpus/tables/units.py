"""Units and their counts in larger ones."""

from __future__ import annotations

from training.corpus import fact_tables
from training.corpus.fact_tables import phrases, table

UNITS = fact_tables.UNITS | table(
    """hours in a week: 168; minutes in a day: 1440; milligrams in a gram: 1000; centimetres in a kilometre: 100000;
    sides in a pentagon: 5; sides in an octagon: 8; sides in a rectangle: 4; corners in a triangle: 3;
    corners in a square: 4; faces in a cube: 6; days in a fortnight: 14; items in a pair: 2; shoes in a pair: 2;
    quarters in a year: 4; minutes in a quarter of an hour: 15; hours in half a day: 12; cents in a euro: 100;
    pence in a pound: 100; feet in a mile: 5280; yards in a mile: 1760; inches in a yard: 36; pints in a gallon: 8;
    cards in a deck: 52; items in two dozen: 24; seasons in a year: 4; vowels in the alphabet: 5;
    colours in the rainbow: 7; months in half a year: 6; degrees in a triangle: 180; decades in a century: 10;
    centuries in a millennium: 10; millimetres in a kilometre: 1000000; days in two weeks: 14;
    hours in two days: 48; oceans in the world: 5"""
)
# Pairs that people ask for and that are not in the table.
OUTSIDE = phrases(
    """
    litres in a barrel, furlongs in a mile, grains in a pound, stars in the sky, seconds in a year, fish in the
    sea, people in the world, countries in the world, words in a book, trees in a forest, cells in the body, bones
    in the body, teeth in a mouth, atoms in a gram, drops in a bucket, pages in a book, joules in a calorie, watts
    in a horsepower, islands in the ocean, cars in a city, miles in a light year, knots in a rope, hairs on a
    head, grapes in a bunch, kilometres in a mile, pounds in a kilogram, litres in a gallon, centimetres in an
    inch, acres in a hectare, slices in a cake, rooms in a castle, books in a library, minutes in a year, seconds
    in a week, bytes in a gigabyte
    """
)
